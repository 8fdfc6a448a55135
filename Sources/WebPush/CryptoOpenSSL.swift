#if !canImport(CryptoKit) && !PUSHSIM_SWIFT_CRYPTO
    import CPushSimOpenSSL

    /// The primitives, by OpenSSL 3.
    enum PlatformCrypto {
        static func sha256(_ message: UnsafeRawBufferPointer) -> [UInt8] {
            var context = SHA256_CTX()
            SHA256_Init(&context)
            SHA256_Update(&context, message.baseAddress, message.count)
            return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
                SHA256_Final(buffer.baseAddress, &context)
                count = 32
            }
        }

        /// The uncompressed public point of a scalar, or nil where the scalar is out of range.
        static func publicKey(scalar: [UInt8]) -> [UInt8]? {
            withKey(scalar: scalar) { key in
                var point = [UInt8](repeating: 0, count: 65)
                let length = EC_POINT_point2oct(
                    EC_KEY_get0_group(key), EC_KEY_get0_public_key(key), POINT_CONVERSION_UNCOMPRESSED, &point, 65, nil)
                return length == 65 ? point : nil
            }
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

        private static func withKey<Result>(scalar: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
            guard scalar.count == 32, let key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
            defer { EC_KEY_free(key) }
            guard EC_KEY_oct2priv(key, scalar, 32) == 1, let secret = EC_KEY_get0_private_key(key),
                BN_is_zero(secret) == 0, let group = EC_KEY_get0_group(key), let order = EC_GROUP_get0_order(group),
                BN_cmp(secret, order) < 0, let point = EC_POINT_new(group)
            else { return nil }
            defer { EC_POINT_free(point) }
            guard EC_POINT_mul(group, point, secret, nil, nil, nil) == 1, EC_KEY_set_public_key(key, point) == 1 else {
                return nil
            }
            return body(key)
        }
    }
#endif
