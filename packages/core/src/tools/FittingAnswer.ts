import { hash } from "node:crypto"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { cutEnd, cutText } from "@reins/base/base/CutText"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"

/**
 * Gives the function that makes an answer as short as a model may get, with its middle left out. The agent gets a file with the whole below its home,
 * where no capture finds it. An answer whose file cannot be written is cut all the same.
 */
export const makeFittingAnswer = Effect.gen(function* () {
  const { files } = yield* Bench
  const { toolAnswerCharacters: most } = (yield* CoreConfig).limits
  return Effect.fnUntraced(function* (session: SessionId, text: string) {
    if (text.length <= most) return text
    const bytes = Buffer.from(text)
    const digest = hash("sha256", bytes, "hex")
    const kept = yield* Effect.isSuccess(
      files.attach(session, { name: "answer.txt", digest: `sha256:${digest}` }, bytes)
    )
    const where = kept ? `. The whole is in ~/attachments/${digest.slice(0, 16)}/answer.txt` : ""
    const note = `[${text.length - most} characters are left out${where}]`
    return `${cutText(text, most / 2)}\n${note}\n${cutEnd(text, most / 2)}`
  })
})
