import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import type { Readable } from "node:stream"
import { cutText, textOfBeginning } from "@reins/base/base/CutText"
import { foreignJson } from "@reins/base/base/ForeignJson"
import { htmlPage } from "../../harness/ModelRefusals.js"
import { scrubber } from "../../harness/Secrets.js"
import { AnswerReader } from "./AnswerReader.js"
import { askedPause } from "./AskedPause.js"
import { delayInError, namesOfError, wordsOfError } from "./CallDialects.js"
import type { OpenLoan } from "./GatewayLoan.js"
import { JsonScan } from "./JsonScan.js"
import {
  type AnswerWords,
  type CallLeave,
  type CallOutcome,
  type CallProtocol,
  type ModelCall,
  modelInPath,
  protocolOf
} from "./ModelCall.js"

interface TapTerms {
  readonly admission: CallLeave["admission"]
  readonly readsAnswers: boolean
}

/** The longest error body that is read for its words, in bytes. */
const longestError = 64 * 1024

const asked = { values: new Set(["model"]), marks: new Set(["tools/*"]) }

/**
 * Listens to one model call on its way through the relay, and tells of it once, when it has ended. It only reads what passes: it
 * delays and changes nothing.
 */
export class CallTap {
  private readonly startedAt = Date.now()
  private readonly request = new JsonScan(asked)
  private readonly answer: AnswerReader
  private isReadable = true
  private status: number | null = null
  private headers: IncomingHttpHeaders = {}
  private errorBody: Array<Uint8Array> = []
  private errorLength = 0
  private words: string | null = null
  /** The side that has ended the call before its time. */
  private leaver: "agent" | "gateway" | undefined
  private hasEnded = false

  constructor(
    private readonly protocol: CallProtocol,
    private readonly target: string,
    private readonly ended: (call: ModelCall) => void,
    private readonly scrub: (text: string) => string,
    private readonly of: TapTerms
  ) {
    this.answer = new AnswerReader(protocol, of.readsAnswers)
  }

  /** Hears the request of the agent and notices when the agent leaves. */
  hear(request: IncomingMessage, response: ServerResponse): void {
    this.isReadable = (request.headers["content-encoding"] ?? "identity") === "identity"
    if (this.isReadable) request.on("data", (bytes: Buffer) => this.request.push(bytes))
    response.once("close", () => {
      if (!response.writableFinished) this.leaver ??= "agent"
    })
  }

  /** Hears the answer of the gateway: the steps from its bytes to the readable ones, of which the last gives what the agent gets. */
  hearAnswer(status: number, headers: IncomingHttpHeaders, steps: ReadonlyArray<Readable>): void {
    this.status = status
    this.headers = headers
    for (const step of steps) {
      step.once("error", () => {
        this.leaver ??= "gateway"
      })
    }
    steps.at(-1)?.on("data", (bytes: Buffer) => {
      if (status < 400) this.answer.push(bytes)
      else if (this.errorLength < longestError) {
        this.errorBody.push(bytes)
        this.errorLength += bytes.length
      }
    })
  }

  /** The relay answers in the place of the gateway, because no answer of it can be passed on. */
  replaced(status: number, words: string): void {
    this.status ??= status
    this.words = words
    this.end("unreachable")
  }

  /** The answer has passed, or will not any more. Further calls change nothing. */
  end(why: "whole" | "cut" | "unreachable"): void {
    if (this.hasEnded) return
    this.hasEnded = true
    if (why === "whole") this.answer.end()
    const { error, lack, usage } = this.answer
    const outcome = this.outcome(why)
    const body = bodyOf(textOfBeginning(Buffer.concat(this.errorBody)), this.headers["content-type"])
    const words = this.words ?? error?.words ?? body.words
    const headers = body.delay === null ? this.headers : { "retry-after": body.delay, ...this.headers }
    this.ended({
      protocol: this.protocol,
      model: modelInPath(this.target) ?? this.modelAsked(),
      hasTools: this.isReadable && this.request.isWhole ? this.request.found.has("tools/*") : null,
      startedAt: this.startedAt,
      endedAt: Date.now(),
      outcome,
      status: error?.status ?? this.status,
      words: words === null ? null : this.scrub(words),
      names: this.scrub(error?.names ?? body.names),
      pauseMs: outcome === "refused" ? askedPause(headers, words, Date.now()) : null,
      lack: outcome === "answered" ? lack : null,
      usage,
      ...(this.of.admission !== undefined && { admission: this.of.admission }),
      ...(this.of.readsAnswers && { answer: this.answerWords() })
    })
  }

  private answerWords(): AnswerWords {
    const { ends, model } = this.answer.words
    return { model: model === null ? null : this.scrub(model), ends: ends.map((word) => this.scrub(word)) }
  }

  private outcome(why: Parameters<CallTap["end"]>[0]): CallOutcome {
    if (why === "unreachable") return "unreachable"
    if (this.status !== null && this.status >= 400) return "refused"
    if (this.answer.error !== undefined) return "refused"
    if (this.answer.isEnded) return "answered"
    if (why === "whole") return this.answer.isAnswer ? "broken_off" : "garbled"
    return this.leaver === "gateway" ? "broken_off" : "abandoned"
  }

  private modelAsked(): string | null {
    const model = this.request.found.get("model")
    return typeof model === "string" ? cutText(model, 255) : null
  }
}

/** An error body, as far as it is read. */
interface ErrorBody {
  readonly words: string | null
  readonly names: string
  /** The pause that its details ask for. */
  readonly delay: string | null
}

/** The words and names of an error body: those of its JSON, or the body itself when it is a short text. */
const bodyOf = (body: string, mediaType = ""): ErrorBody => {
  const value = foreignJson(body)
  if (value !== undefined) {
    const error: unknown = Array.isArray(value) ? value[0] : value
    return { words: wordsOfError(error), names: namesOfError(error), delay: delayInError(error) }
  }
  const isPage = /^\s{0,100}</.test(body) || mediaType.startsWith(htmlPage)
  const isWords = !isPage && body.trim() !== "" && body.length <= 300
  return { words: isWords ? wordsOfError(body) : null, names: isPage ? htmlPage : "", delay: null }
}

/** The tap of a request that asks a model, when the calls of its loan are watched; undefined for every other request. */
export const tapOf = (
  method: string | undefined,
  target: string,
  loan: OpenLoan,
  leave: CallLeave | undefined
): CallTap | undefined => {
  const { calls, key, observer } = loan
  const protocol = protocolOf(method, target)
  if (protocol === undefined || observer === undefined) return undefined
  const ended = (call: ModelCall) => {
    calls.delete(tap)
    observer.ended(call)
  }
  const tap = new CallTap(protocol, target, ended, scrubber({ key }).scrub, {
    admission: leave?.admission,
    readsAnswers: observer.readsAnswers === true
  })
  calls.add(tap)
  return tap
}
