import { Effect } from "effect"
import { OfferedTools } from "../functions/OfferedTools.js"
import { ResultSchemas } from "../results/ResultSchemas.js"
import type { SessionInput } from "./SessionsApi.js"

/** Gives the function that checks the schemas and the tools of a new session. That needs no commit, and takes a while. */
export const makeCheckInput = Effect.gen(function* () {
  const schemas = yield* ResultSchemas
  const tools = yield* OfferedTools

  return Effect.fnUntraced(function* (input: SessionInput) {
    const message = wholeOf(input.message)
    yield* schemas.checkSchema(message?.result_schema, ["body", "message", "result_schema"])
    yield* tools.check(input.tools, ["body", "tools"])
    yield* tools.check(message?.tools, ["body", "message", "tools"])
  })
})

const wholeOf = (message: SessionInput["message"]) =>
  typeof message === "object" && "content" in message ? message : undefined
