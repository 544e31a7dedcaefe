import type { Refused } from "@reins/base/base/RefusalTable"
import { ServerUnusable } from "./GuardedFetch.js"
import { ServerFailed } from "./ServerFailed.js"
import { isUntaken, readServerRefusal } from "./ServerRefusal.js"

// What is wrong with a server, in sentences of ours. The library's own words may hold a whole page, or the findings of a validator.

/** The server has refused a token, and no other one is there. The call was not done. */
export class TokenRefused extends Error {}

/** Says that a server takes no token of its connection. */
export const refusedToken =
  "It refuses the tokens of its connection (401). Check what the client may do there, or give the connection a new credential."

/** A server that takes no request now, and does not say how long, is asked again after this time, in milliseconds. */
const shortPause = 1000

/** The step that failed, and how. */
export interface Failing {
  readonly error: unknown
  /** True for a call of a tool, which the server may have done. */
  readonly isCall: boolean
  /** The last refusal on the wire. */
  readonly refusal: Refused | undefined
}

const codeOf = (error: Error): unknown => ("code" in error ? error.code : undefined)

/** An error and its causes. */
const chainOf = (error: unknown): ReadonlyArray<Error> => {
  const chain: Array<Error> = []
  for (let at: unknown = error; at instanceof Error && chain.length < 5; at = at.cause) chain.push(at)
  return chain
}

/** Codes of a network on which nobody answered. */
const ways: ReadonlyMap<unknown, string> = new Map([
  ["ECONNREFUSED", "Nobody answers at its address"],
  ["ENOTFOUND", "Its name is not known"],
  ["EAI_AGAIN", "Its name cannot be looked up now"],
  ["ECONNRESET", "It broke off the connection"],
  ["EPIPE", "It broke off the connection"],
  ["ETIMEDOUT", "It took too long to connect"],
  ["EHOSTUNREACH", "There is no way to it"],
  ["ENETUNREACH", "There is no way to it"]
])

/** Codes of the library, with what they say in a sentence. */
const ofLibrary: ReadonlyMap<unknown, string> = new Map([
  ["REQUEST_TIMEOUT", "It did not answer in time."],
  ["CONNECTION_CLOSED", "It closed the connection."],
  ["INVALID_RESULT", "Its answer is not as the protocol has it."],
  ["UNSUPPORTED_RESULT_TYPE", "Its answer is of a kind that is not known here, as a question to a person."]
])

const ofNetwork = (error: Error): string | undefined => {
  const code = codeOf(error)
  if (typeof code !== "string") return undefined
  const way = ways.get(code)
  if (way !== undefined) return `${way} (${code}).`
  if (code === "ERR_ADDRESS_REFUSED") return error.message
  if (/^(?:CERT_|ERR_TLS|ERR_SSL|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code))
    return `Its certificate or its TLS cannot be taken (${code}).`
  return ofLibrary.get(code)
}

/** An error of the protocol, with which a server says that it did not do what it was asked for. */
const isOfProtocol = (error: Error): boolean => typeof codeOf(error) === "number" && !(error instanceof DOMException)

const sentenceOf = (chain: ReadonlyArray<Error>): Pick<ServerFailed, "message" | "hasAnswered" | "isAway"> => {
  const unusable = chain.find((error) => error instanceof ServerUnusable)
  if (unusable !== undefined) return { message: unusable.message, hasAnswered: unusable.hasAnswered }
  const known = chain.map(ofNetwork).find((said) => said !== undefined)
  const isOf = (codes: { readonly has: (code: unknown) => boolean }) => chain.some((error) => codes.has(codeOf(error)))
  if (known !== undefined)
    return { message: known, hasAnswered: isOf(new Set<unknown>(["INVALID_RESULT"])), isAway: isOf(ways) }
  const version = chain.find(({ message }) => message.includes("protocol version"))
  if (version !== undefined)
    return {
      message: `It speaks no version of the protocol that is spoken here: ${version.message}`,
      hasAnswered: true
    }
  return { message: "Its answer is not as the protocol has it.", hasAnswered: true }
}

/** Says what is wrong with a server. */
export const serverFailure = ({ error, isCall, refusal }: Failing): ServerFailed => {
  const chain = chainOf(error)
  const token = chain.find((found) => found instanceof TokenRefused)
  if (token !== undefined)
    return new ServerFailed({ message: token.message, mayHaveHappened: false, needsAuthorization: true })
  // The token that was made in the place of the refused one is refused too.
  if (chain.some(({ message }) => message.includes("401 after re-authentication")))
    return new ServerFailed({ message: refusedToken, mayHaveHappened: false, needsAuthorization: true })
  const ofAnswer = chain.find(isOfProtocol)
  if (ofAnswer !== undefined)
    return new ServerFailed({
      message: `It answers with an error (${String(codeOf(ofAnswer))}): ${ofAnswer.message}`,
      mayHaveHappened: false,
      hasAnswered: true,
      isSessionGone: codeOf(ofAnswer) === -32001 && ofAnswer.message.toLowerCase().includes("session")
    })
  if (refusal !== undefined && chain.some(isHttp)) return ofRefusal(refusal, isCall)
  return new ServerFailed({ ...sentenceOf(chain), mayHaveHappened: isCall })
}

/** An error for a status, which the library makes of each refusal. */
const isHttp = (error: Error): boolean =>
  "data" in error && typeof error.data === "object" && error.data !== null && "status" in error.data

/** A gateway that fails has perhaps passed the call on. */
const mayBeDone = ({ status }: Refused): boolean => status >= 500 && status !== 503

const ofRefusal = (refusal: Refused, isCall: boolean): ServerFailed => {
  const { kind, message, waitMs } = readServerRefusal(refusal)
  const isWaiting = kind === "wait" && (isUntaken(refusal) || !isCall)
  return new ServerFailed({
    message,
    mayHaveHappened: isCall && (mayBeDone(refusal) || (refusal.status === 503 && !isUntaken(refusal))),
    hasAnswered: true,
    ...(kind === "authorization" && { needsAuthorization: true }),
    ...(kind === "session" && { isSessionGone: true }),
    ...(isWaiting && { againMs: waitMs ?? shortPause })
  })
}
