import { ValidationFailed } from "./middleware/ErrorEnvelope.js"
import { echoed } from "./validation/EchoedInput.js"
import { valueError } from "./validation/Validation.js"

/**
 * The headers that take one value, in the spelling that people use. Node gives the first of some and joins others, so a proxy and the service
 * could read two different requests. An `X-Request-Id` that is given twice is replaced, as one that is not well formed is.
 */
const single: ReadonlyMap<string, string> = new Map(
  ["Authorization", "Content-Type", "Host", "Idempotency-Key", "If-Match", "Last-Event-ID", "X-CSRF-Token"].map(
    (name) => [name.toLowerCase(), name]
  )
)

/** The refusal of a request that gives one of these headers more than once, also with equal values. `raw` has names and values in turn. */
export const refusalOfRepeated = (raw: ReadonlyArray<string>): ValidationFailed | undefined => {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? ""
    if (!single.has(name)) continue
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return repeated.size === 0
    ? undefined
    : new ValidationFailed({ detail: [...repeated].map((name) => givenAgain(name, valuesOf(raw, name))) })
}

const valuesOf = (raw: ReadonlyArray<string>, name: string): ReadonlyArray<string> =>
  raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name)

const givenAgain = (name: string, values: ReadonlyArray<string>) => {
  const loc = ["header", single.get(name) ?? name]
  return valueError(loc, `this header takes one value, and ${values.length} are given`, echoed(loc, values))
}
