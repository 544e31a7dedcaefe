import { RequestError } from "@agentclientprotocol/sdk"
import { ReinsApiError, ReinsConnectionError, ReinsValidationError } from "@reins/client"

/** An error of the API as the protocol has it, with the sentence for the person. */
export const refusalOf = (error: unknown): unknown => {
  if (error instanceof ReinsApiError) {
    const { code, message, requestId, status } = error
    const data = { code, ...(requestId !== undefined && { request_id: requestId }) }
    if (code === "model_required")
      return new RequestError(
        -32603,
        "No model is chosen, and the gateway of the connection lists none. Say which one the connection prefers: " +
          "reins connections prefer CONNECTION MODEL. Then begin a new session.",
        data
      )
    if (status === 401)
      return new RequestError(
        -32000,
        `${message} Connect with another API key. For \`reins acp\`, \`reins init\` stores one.`,
        data
      )
    if (status === 404) return new RequestError(-32002, message, data)
    return new RequestError(status === 403 ? -32000 : -32603, message, data)
  }
  if (error instanceof ReinsConnectionError)
    return new RequestError(-32603, `${error.message}. Start the server, or set REINS_URL.`, { reason: error.reason })
  if (error instanceof ReinsValidationError) return new RequestError(-32602, error.message)
  return error
}

export const invalid = (sentence: string): RequestError => new RequestError(-32602, sentence)

/** The answer to a request that the editor has taken back. */
export const takenBack = (): RequestError => RequestError.requestCancelled()

/** A handler whose errors are those of the protocol. */
export const refusing =
  <Context extends { readonly signal: AbortSignal }, Answer>(handler: (context: Context) => Promise<Answer>) =>
  async (context: Context): Promise<Answer> => {
    try {
      return await handler(context)
    } catch (error) {
      throw context.signal.aborted ? takenBack() : refusalOf(error)
    }
  }

export const authRequired = (sentence: string): RequestError => new RequestError(-32000, sentence)
