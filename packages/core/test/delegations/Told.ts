import type { Gateway } from "reins-example-scripted-gateway/gateway.mjs"

/** The answers of the service's tools to the model, in order. */
export const toldBy = (gateway: Gateway): ReadonlyArray<Record<string, unknown> & { readonly text: string }> => {
  const longest = gateway.requests.reduce<Gateway["requests"][number]["messages"]>(
    (most, { messages }) => (messages.length > most.length ? messages : most),
    []
  )
  return longest
    .filter(({ role }) => role === "tool_result")
    .map(({ text }) => {
      try {
        return { text, ...JSON.parse(text) }
      } catch {
        return { text }
      }
    })
}
