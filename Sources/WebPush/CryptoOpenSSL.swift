#if !canImport(CryptoKit) && !PUSHSIM_SWIFT_CRYPTO
    import CPushSimOpenSSL

    /// The primitives, by OpenSSL 3.
    enum PlatformCrypto {
        /// The curve P-256. Read only after its creation, so safe to share; nil only where the library fails.
        nonisolated(unsafe) private static let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)

        static func sha256(_ message: UnsafeRawBufferPointer) -> [UInt8] {
            var context = SHA256_CTX()
            SHA256_Init(&context)
            SHA256_Update(&context, message.baseAddress, message.count)
            var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
            return withUnsafeMutableBytes(of: &digest) { digest in
                SHA256_Final(digest.baseAddress, &context)
                // Of raw memory an array is made fastest where nothing is optimised.
                return Array(UnsafeRawBufferPointer(digest))
            }
        }

        static func hmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
                var length: UInt32 = 32
                HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, &length)
                count = 32
            }
        }

        /// The uncompressed public point of a scalar, or nil where the scalar is out of range.
        static func publicKey(scalar: [UInt8]) -> [UInt8]? {
            withScalar(scalar) { number in
                withPoint { point in
                    guard EC_POINT_mul(group, point, number, nil, nil, nil) == 1 else { return nil }
                    var octets = [UInt8](repeating: 0, count: 65)
                    let form = POINT_CONVERSION_UNCOMPRESSED
                    return EC_POINT_point2oct(group, point, form, &octets, 65, nil) == 65 ? octets : nil
                }
            }
        }

        /// Whether 65 octets are an uncompressed point of the curve other than infinity.
        static func isPoint(_ octets: [UInt8]) -> Bool {
            guard octets.count == 65, octets[0] == 4 else { return false }
            return withPoint { EC_POINT_oct2point(group, $0, octets, 65, nil) == 1 ? true : nil } ?? false
        }

        /// The x coordinate, 32 octets, of the product; nil where the scalar is out of range or the point is none.
        static func sharedSecret(scalar: [UInt8], point octets: [UInt8]) -> [UInt8]? {
            guard octets.count == 65, octets[0] == 4 else { return nil }
            return withScalar(scalar) { number in
                withPoint { peer in
                    guard EC_POINT_oct2point(group, peer, octets, 65, nil) == 1 else { return nil }
                    return withPoint { product in
                        guard EC_POINT_mul(group, product, nil, peer, number, nil) == 1, let x = BN_new() else {
                            return nil
                        }
                        defer { BN_clear_free(x) }
                        guard EC_POINT_get_affine_coordinates(group, product, x, nil, nil) == 1 else { return nil }
                        var secret = [UInt8](repeating: 0, count: 32)
                        return BN_bn2binpad(x, &secret, 32) == 32 ? secret : nil
                    }
                }
            }
        }

        /// The ciphertext and, behind it, the tag of 16 octets.
        static func seal(key: [UInt8], nonce: [UInt8], additional: [UInt8], _ plaintext: [UInt8]) -> [UInt8]? {
            guard key.count == 16, nonce.count == 12, let context = EVP_CIPHER_CTX_new() else { return nil }
            defer { EVP_CIPHER_CTX_free(context) }
            var length: Int32 = 0
            guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
                additional.isEmpty
                    || EVP_EncryptUpdate(context, nil, &length, additional, Int32(additional.count)) == 1
            else { return nil }
            var isGood = false
            let sealed = [UInt8](unsafeUninitializedCapacity: plaintext.count + 16) { buffer, count in
                guard let out = buffer.baseAddress else { return }
                guard
                    plaintext.isEmpty
                        || EVP_EncryptUpdate(context, out, &length, plaintext, Int32(plaintext.count)) == 1,
                    EVP_EncryptFinal_ex(context, out + plaintext.count, &length) == 1,
                    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, out + plaintext.count) == 1
                else { return }
                count = plaintext.count + 16
                isGood = true
            }
            return isGood ? sealed : nil
        }

        /// Nil where the tag is not the text's.
        static func open(key: [UInt8], nonce: [UInt8], additional: [UInt8], _ sealed: [UInt8]) -> [UInt8]? {
            guard key.count == 16, nonce.count == 12, sealed.count >= 16, let context = EVP_CIPHER_CTX_new() else {
                return nil
            }
            defer { EVP_CIPHER_CTX_free(context) }
            let size = sealed.count - 16
            var tag = Array(sealed[size...])
            var length: Int32 = 0
            guard EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
                additional.isEmpty
                    || EVP_DecryptUpdate(context, nil, &length, additional, Int32(additional.count)) == 1
            else { return nil }
            var plaintext = [UInt8](repeating: 0, count: size + 16)
            guard size == 0 || EVP_DecryptUpdate(context, &plaintext, &length, sealed, Int32(size)) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, 16, &tag) == 1
            else { return nil }
            var rest = [UInt8](repeating: 0, count: 16)
            guard EVP_DecryptFinal_ex(context, &rest, &length) == 1 else { return nil }
            return Array(plaintext[..<size])
        }

        static func sign(digest: [UInt8], scalar: [UInt8]) -> [UInt8]? {
            withKey(scalar: scalar) { key in
                guard let signature = ECDSA_do_sign(digest, Int32(digest.count), key) else { return nil }
                defer { ECDSA_SIG_free(signature) }
                var out = [UInt8](repeating: 0, count: 64)
                let written = out.withUnsafeMutableBufferPointer { buffer in
                    guard let base = buffer.baseAddress else { return false }
                    return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32
                        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + 32, 32) == 32
                }
                return written ? out : nil
            }
        }

        static func verify(signature: [UInt8], digest: [UInt8], publicKey: [UInt8]) -> Bool {
            guard signature.count == 64, publicKey.count == 65, let key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
            else { return false }
            defer { EC_KEY_free(key) }
            guard EC_KEY_oct2key(key, publicKey, 65, nil) == 1, let parsed = ECDSA_SIG_new() else { return false }
            defer { ECDSA_SIG_free(parsed) }
            let r = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
            let s = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + 32 }, 32, nil) }
            // ECDSA_SIG_set0 takes both numbers over.
            guard ECDSA_SIG_set0(parsed, r, s) == 1 else { return false }
            return ECDSA_do_verify(digest, Int32(digest.count), parsed, key) == 1
        }

        private static func withPoint<Result>(_ body: (OpaquePointer) -> Result?) -> Result? {
            guard let point = EC_POINT_new(group) else { return nil }
            defer { EC_POINT_free(point) }
            return body(point)
        }

        /// Calls `body` with a scalar from 1 to the order of the curve less 1.
        private static func withScalar<Result>(_ scalar: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
            guard scalar.count == 32, let number = BN_bin2bn(scalar, 32, nil) else { return nil }
            defer { BN_clear_free(number) }
            guard BN_is_zero(number) == 0, let order = EC_GROUP_get0_order(group), BN_cmp(number, order) < 0 else {
                return nil
            }
            return body(number)
        }

        private static func withKey<Result>(scalar: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
            withScalar(scalar) { number in
                withPoint { point in
                    guard let key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
                    defer { EC_KEY_free(key) }
                    guard EC_POINT_mul(group, point, number, nil, nil, nil) == 1,
                        EC_KEY_set_private_key(key, number) == 1, EC_KEY_set_public_key(key, point) == 1
                    else { return nil }
                    return body(key)
                }
            }
        }
    }
#endif
