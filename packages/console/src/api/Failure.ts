import { ReinsApiError, ReinsConnectionError, ReinsValidationError } from "@reins/client"
import { fieldSentence, type Mend, sentenceOf } from "./Sentences.js"
import { isLoggedOut, me } from "./Server.js"

/** The fault of a field of a form. */
export interface FieldFault {
  /** The names that a field of the form may have for it, the nearest first. */
  readonly names: ReadonlyArray<string>
  readonly text: string
}

/** A failed call, as it is shown. */
export interface Failure {
  /** The sentence for a person. */
  readonly text: string
  /** The server's own sentence, or that of the client where no answer came. It stands behind “Details”. */
  readonly message: string
  /** The code of the API; null where no answer came. */
  readonly code: string | null
  /** Names the request in the log of the server; null where no answer came. */
  readonly requestId: string | null
  /** The seconds to wait before another try, where the server says so. */
  readonly retryAfterSeconds: number | null
  readonly fields?: ReadonlyArray<FieldFault>
  /** A page where it can be mended. */
  readonly mend?: Mend | undefined
}

/** The failure of something that the live worker has told. */
export const failureToldBy = (told: Pick<Failure, "message" | "code" | "requestId">): Failure => {
  const { mend, text } = sentenceOf(told.code, told.message)
  return { ...told, text, mend, retryAfterSeconds: null }
}

/** A fault that this page has found in a field. */
export class Fault extends Error {
  constructor(
    readonly field: string,
    text: string
  ) {
    super(text)
  }
}

/** The failure of an error. One that says that the login is over asks for a new one, on the same page. */
export const failureOf = (error: unknown): Failure => {
  if (isLoggedOut(error)) me.value = null
  if (error instanceof ReinsApiError) {
    const { code, message, requestId, retryAfterSeconds = null } = error
    const { field, mend, text } = sentenceOf(code, message)
    const fields = field === undefined ? [] : [{ names: [field], text }]
    return { text, message, code, requestId, retryAfterSeconds, fields, mend }
  }
  if (error instanceof ReinsValidationError) {
    const message = error.detail.map(({ loc, msg }) => `${loc.slice(1).join(".") || "request"}: ${msg}`).join("; ")
    const fields = error.detail.map(({ loc, msg }) => ({
      names: loc.slice(1).map(String).reverse(),
      text: fieldSentence(msg)
    }))
    const text = [...new Set(fields.map((field) => field.text))].join(" ")
    return { text, message, code: "validation", requestId: error.requestId, retryAfterSeconds: null, fields }
  }
  if (error instanceof Fault) {
    const { field, message: text } = error
    return {
      text,
      message: text,
      code: null,
      requestId: null,
      retryAfterSeconds: null,
      fields: [{ names: [field], text }]
    }
  }
  const reason = error instanceof ReinsConnectionError ? error.reason : null
  const message = error instanceof Error ? error.message : String(error)
  // Errors of this page are written for people.
  const text = reason === null ? message : sentenceOf("network", message).text
  return { text, message, code: reason, requestId: null, retryAfterSeconds: null }
}
