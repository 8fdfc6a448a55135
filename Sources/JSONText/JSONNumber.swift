/// A number by its value: sign, significant digits and power of ten, whatever its spelling and size.
package struct JSONNumber: Hashable, Sendable {
    /// Without zeros at either end; empty is zero.
    private var digits: [UInt8] = []
    private var exponent = 0
    private var isNegative = false
    /// Infinity and NaN of JSON5, and exponents beyond reckoning, keep their spelling.
    private var spelling: [UInt8] = []

    /// - Parameter source: as JSON or JSON5 spells numbers; nil for anything else.
    package init?(_ source: ArraySlice<UInt8>) {
        var rest = source
        if rest.first == 45 || rest.first == 43 {
            isNegative = rest.first == 45
            rest = rest.dropFirst()
        }
        guard let first = rest.first else { return nil }
        if first == 73 || first == 78 {
            spelling = Array(rest)
            return
        }
        if rest.count > 2, first == 48, rest[rest.startIndex + 1] | 32 == 120 {
            guard let digits = Self.decimal(hexadecimal: rest.dropFirst(2)) else { return nil }
            self.digits = digits
        } else {
            guard readDecimal(rest) else { return nil }
        }
        normalise()
    }

    private mutating func readDecimal(_ rest: ArraySlice<UInt8>) -> Bool {
        var point = false
        for (position, byte) in zip(rest.indices, rest) {
            switch byte {
            case 48...57:
                digits.append(byte)
                if point { exponent -= 1 }
            case 46: point = true
            case 69, 101:
                var power = rest[(position + 1)...]
                let negative = power.first == 45
                if power.first == 45 || power.first == 43 { power = power.dropFirst() }
                var value = 0
                for digit in power {
                    guard digit >= 48, digit <= 57 else { return false }
                    value = min(value * 10 + Int(digit - 48), 1 << 40)
                }
                if value == 1 << 40 { spelling = Array(power) }
                exponent += negative ? -value : value
                return !digits.isEmpty
            default: return false
            }
        }
        return !digits.isEmpty
    }

    private mutating func normalise() {
        let leading = digits.prefix { $0 == 48 }.count
        digits.removeFirst(leading)
        while digits.last == 48 {
            digits.removeLast()
            exponent += 1
        }
        if digits.isEmpty {
            exponent = 0
            isNegative = false
            spelling = []
        }
    }

    private static func decimal(hexadecimal: ArraySlice<UInt8>) -> [UInt8]? {
        var digits: [UInt8] = [0]
        for byte in hexadecimal {
            guard let value = JSONScanner.hexValue(byte) else { return nil }
            var carry = Int(value)
            for index in digits.indices {
                carry += Int(digits[index]) * 16
                digits[index] = UInt8(carry % 10)
                carry /= 10
            }
            while carry > 0 {
                digits.append(UInt8(carry % 10))
                carry /= 10
            }
        }
        return digits.reversed().map { $0 + 48 }
    }

    /// The same octets for the same value.
    var canonical: [UInt8] {
        (isNegative ? [45] : []) + digits + [101] + Array(String(exponent).utf8) + spelling
    }

    /// The value where it is whole and fits.
    package var int: Int? {
        guard spelling.isEmpty else { return nil }
        if digits.isEmpty { return 0 }
        guard exponent >= 0, exponent < 20, digits.count + exponent <= 19 else { return nil }
        let magnitude = String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: exponent)
        return Int((isNegative ? "-" : "") + magnitude)
    }

    package var double: Double {
        if spelling.first == 73 { return isNegative ? -Double.infinity : .infinity }
        if spelling.first == 78 { return .nan }
        if digits.isEmpty { return 0 }
        let text = (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self) + "e\(exponent)"
        return Double(text) ?? .nan
    }
}
