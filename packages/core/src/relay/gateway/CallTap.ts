import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readable } from "node:stream"
import { cutText, textOfBeginning } from "../../base/CutText.js"
import { scrubber } from "../../harness/Secrets.js"
import { AnswerReader } from "./AnswerReader.js"
import { wordsOfError } from "./CallDialects.js"
import type { OpenLoan } from "./GatewayLoan.js"
import { JsonScan } from "./JsonScan.js"
import {
  type CallLeave,
  type CallOutcome,
  type CallProtocol,
  type ModelCall,
  modelInPath,
  protocolOf
} from "./ModelCall.js"

/** The longest error body that is read for its words, in bytes. */
const longestError = 8 * 1024

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
    private readonly admission: CallLeave["admission"]
  ) {
    this.answer = new AnswerReader(protocol)
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
  hearAnswer(status: number, steps: ReadonlyArray<Readable>): void {
    this.status = status
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
    const { error, usage } = this.answer
    this.ended({
      protocol: this.protocol,
      model: modelInPath(this.target) ?? this.modelAsked(),
      hasTools: this.isReadable && this.request.isWhole ? this.request.found.has("tools/*") : null,
      startedAt: this.startedAt,
      endedAt: Date.now(),
      outcome: this.outcome(why),
      status: error?.status ?? this.status,
      words: this.saidWords(),
      usage,
      ...(this.admission !== undefined && { admission: this.admission })
    })
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

  private saidWords(): string | null {
    const said = this.words ?? this.answer.error?.words ?? bodyWords(textOfBeginning(Buffer.concat(this.errorBody)))
    return said === null ? null : this.scrub(said)
  }
}

/** The words of an error body: those of its JSON, or the body itself when it is a short text. */
const bodyWords = (body: string): string | null => {
  try {
    const value: unknown = JSON.parse(body)
    return wordsOfError(Array.isArray(value) ? value[0] : value)
  } catch {
    return body.trim() === "" || body.length > 300 || body.includes("<") ? null : wordsOfError(body)
  }
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
  const tap = new CallTap(protocol, target, ended, scrubber({ key }).scrub, leave?.admission)
  calls.add(tap)
  return tap
}
