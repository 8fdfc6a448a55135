import PushSimWebPush
import PushSimWire

/// A named allowance.
struct Bucket: Hashable {
    let name: String
    /// So many calls.
    let limit: Int
    /// Nanoseconds in which all of them come back.
    let window: Int64

    static let subscribe = Bucket(name: "user:push:subscribe", limit: 20, window: 60_000_000_000)
    static let unsubscribe = Bucket(name: "user:push:unsubscribe", limit: 40, window: 60_000_000_000)
    static let list = Bucket(name: "user:push:list", limit: 40, window: 10_000_000_000)
    static let global = Bucket(name: "global", limit: 50, window: 1_000_000_000)

    /// As `X-RateLimit-Bucket` shows it.
    var digest: [UInt8] { Array(Hex.bytes(Digest.sha256(Array(name.utf8))).prefix(16)) }
}

/// The generic cell rate algorithm: the whole limit may burst at once, then one slot comes back every window / limit.
struct RateLimits {
    struct Key: Hashable {
        let bucket: String
        let who: [UInt8]
    }

    /// When the allowance will be whole again, on the scope's clock.
    var full: [Key: Int64] = [:]

    /// Counts a call.
    /// - Returns: nil where it is allowed; else the nanoseconds until a slot is free.
    mutating func take(_ bucket: Bucket, _ who: [UInt8], now: Int64) -> Int64? {
        let slot = bucket.window / Int64(bucket.limit)
        let key = Key(bucket: bucket.name, who: who)
        let next = max(full[key] ?? now, now) + slot
        let wait = next - bucket.window - now
        if wait > 0 { return wait }
        full[key] = next
        return nil
    }
}

/// An answer of 429.
enum RateLimited {
    /// - Parameter bucket: nil on a route that has none of its own, where a profile says 429 all the same.
    static func response(_ bucket: Bucket?, wait: Int64, now: Int64) -> Response {
        let isGlobal = bucket == .global
        var response = FluxerError(429, "RATE_LIMITED", "You are being rate limited.").response
        var body = Array("{\"code\":\"RATE_LIMITED\",\"message\":\"You are being rate limited.\",\"global\":".utf8)
        body += Array((isGlobal ? "true" : "false").utf8)
        body += Array(",\"retry_after\":\(seconds(wait))}".utf8)
        response.body = body
        response.fields.append(HeaderField("Retry-After", String(wholeSeconds(wait))))
        guard let bucket else { return response }
        if isGlobal {
            response.fields.append(HeaderField("X-RateLimit-Scope", "global"))
            response.fields.append(HeaderField("X-RateLimit-Global", "true"))
            return response
        }
        response.fields.append(HeaderField("X-RateLimit-Limit", String(bucket.limit)))
        response.fields.append(HeaderField("X-RateLimit-Remaining", "0"))
        response.fields.append(HeaderField("X-RateLimit-Reset", seconds(now + wait)))
        response.fields.append(HeaderField("X-RateLimit-Reset-After", seconds(wait)))
        response.fields.append(HeaderField(Array("X-RateLimit-Bucket"), bucket.digest))
        response.fields.append(HeaderField("X-RateLimit-Scope", "user"))
        return response
    }

    /// As `Retry-After` has it: upwards, and at least 1.
    static func wholeSeconds(_ nanoseconds: Int64) -> Int64 {
        max(1, nanoseconds / 1_000_000_000 + (nanoseconds % 1_000_000_000 > 0 ? 1 : 0))
    }

    /// With a fraction of up to three digits, upwards.
    static func seconds(_ nanoseconds: Int64) -> String {
        let milliseconds = (nanoseconds + 999_999) / 1_000_000
        var text = String(milliseconds / 1000)
        let fraction = milliseconds % 1000
        guard fraction > 0 else { return text }
        var digits = String(fraction)
        digits = String(repeating: "0", count: 3 - digits.utf8.count) + digits
        while digits.utf8.last == 48 { digits.removeLast() }
        text += ".\(digits)"
        return text
    }
}
