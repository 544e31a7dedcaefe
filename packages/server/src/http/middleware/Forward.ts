import { Agent, type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions } from "node:http"
import { Agent as SecureAgent } from "node:https"
import type { NeededMachine } from "@reins/base/domain/Endpoint"
import { SessionId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { Scope } from "@reins/base/domain/Scope"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Nodes } from "@reins/core/placement/Nodes"
import { type Place, Placements } from "@reins/core/placement/Placements"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { connectionHeaders } from "@reins/machine/outbound/ConnectionHeaders"
import { Data, Effect, Schema } from "effect"
import type { Exchange } from "../Exchange.js"
import { Reply } from "../Reply.js"
import type { PathParams, Route } from "../Route.js"
import { Authentication } from "./Authentication.js"
import { sealOf } from "./ForwardSeal.js"
import { lostNodes } from "./LostNodes.js"
import { requestToNode } from "./NodeRequest.js"

/** An endpoint whose answer needs files, as far as it matters for its way. */
export interface Needing {
  readonly needs: NeededMachine
  readonly scope: Scope | "public"
  readonly mutates: boolean
}

/** Idle connections are kept for less than the listener of the other node keeps them, in milliseconds. */
const idleMs = 30_000

/** The other node did not answer. `begun` says that a part of its answer was passed on. */
class Unanswered extends Data.TaggedError("Unanswered")<{ readonly begun: boolean }> {}

/**
 * Brings requests to the node that has the files of their session. They go as they came, before anything is asked of the caller, so all that is
 * checked and counted is checked and counted once, there. A request goes one hop at most.
 */
export const forwarding = Effect.gen(function* () {
  const nodes = yield* Nodes
  const placements = yield* Placements
  const changesets = yield* ChangesetStore
  const sessions = yield* SessionStore
  const authentication = yield* Authentication
  const seal = sealOf(yield* KeyRing)
  const self = nodes.self ?? ""
  const agents = yield* connections
  const whenLost = yield* lostNodes

  const isSession = Schema.is(SessionId)
  const sessionOf = (needs: NeededMachine, params: PathParams) => {
    const id = params[needs] ?? ""
    if (needs === "session_id") return Effect.succeed(isSession(id) ? id : undefined)
    return Effect.map(changesets.find(id), (changeset) => changeset?.session_id)
  }

  /** Places a session that needs files, for a caller who may read or change it. */
  const settle = Effect.fnUntraced(function* (exchange: Exchange, sessionId: SessionId, scope: Scope) {
    const principal = yield* authentication.admit(exchange, scope, true)
    yield* sessions.readable(principal, sessionId)
    return yield* placements.settle(sessionId)
  })

  /** True for a session that this request needs on a node while it has none, or one that does not answer. */
  const wantsNode = (place: Place, mutates: boolean) =>
    place.kind === "elsewhere"
      ? Effect.map(nodes.locate(place.node), ({ kind }) => kind === "lost")
      : Effect.succeed(place.kind === "nowhere" ? mutates : place.kind !== "here")

  const placeOf = Effect.fnUntraced(function* (exchange: Exchange, sessionId: SessionId, { mutates, scope }: Needing) {
    const place = yield* placements.at(sessionId)
    return scope !== "public" && (yield* wantsNode(place, mutates)) ? yield* settle(exchange, sessionId, scope) : place
  })

  const send = Effect.fnUntraced(function* (exchange: Exchange, node: string) {
    const located = yield* nodes.locate(node)
    if (located.kind !== "at") return yield* away("node_lost")
    const { clientAddress, isForApps, method, request, requestId } = exchange
    const path = request.url ?? "/"
    const headers = {
      ...withoutConnection(request.rawHeaders),
      "x-request-id": requestId,
      [seal.header]: seal.make({ method, url: path }, { node: self, clientAddress, isForApps })
    }
    const untilLost = (lost: () => void) => whenLost({ node, bootId: located.bootId, lost })
    return yield* passOn(exchange, { url: new URL(path, located.address), method, headers, agents, untilLost }).pipe(
      Effect.catchTag("Unanswered", ({ begun }) => {
        // The client learns from the broken connection that its answer is not whole.
        if (begun) exchange.response.destroy()
        return Effect.fail(away("unanswered"))
      })
    )
  })

  return (needing: Needing, answer: Route["answer"]): Route["answer"] =>
    Effect.fnUntraced(function* (exchange: Exchange, params: PathParams) {
      const from = seal.read(exchange)
      if (from !== undefined) {
        exchange.clientAddress = from.clientAddress
        exchange.isForApps = from.isForApps
      }
      const sessionId = yield* sessionOf(needing.needs, params)
      // A session that does not exist is answered for here, and so is one without files.
      if (sessionId === undefined) return yield* answer(exchange, params)
      const place: Place = yield* placeOf(exchange, sessionId, needing)
      if (place.kind === "here" || place.kind === "nowhere") return yield* answer(exchange, params)
      if (place.kind !== "elsewhere") return yield* away("node_lost")
      if (from !== undefined) return yield* away("moved")
      return yield* send(exchange, place.node)
    })
})

const sentences = {
  node_lost: "The node that has the files of this session does not answer. Nothing was done. Try again in a moment.",
  unanswered:
    "The node that has the files of this session has not answered, and may have done it. Send the same again in a moment, with the same Idempotency-Key.",
  moved: "The session has just changed its node. Nothing was done. Try again in a moment."
}

/** The refusal of a request whose session this node does not have. */
export const away = (reason: keyof typeof sentences): ReinsError<"waiting_capacity"> =>
  new ReinsError({
    code: "waiting_capacity",
    message: sentences[reason],
    details: { reason: reason === "unanswered" ? "node_lost" : reason },
    retryAfterSeconds: reason === "moved" ? 1 : 2
  })

/** The connections to other nodes, which are kept between requests. */
const connections = Effect.acquireRelease(
  Effect.sync(() => ({
    plain: new Agent({ keepAlive: true, timeout: idleMs }),
    secure: new SecureAgent({ keepAlive: true, timeout: idleMs })
  })),
  ({ plain, secure }) =>
    Effect.sync(() => {
      plain.destroy()
      secure.destroy()
    })
)

/** The headers of a message without those of its connection, each with all of its values. */
const withoutConnection = (raw: ReadonlyArray<string>): OutgoingHttpHeaders => {
  const headers: Record<string, string | Array<string>> = {}
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase()
    if (connectionHeaders.has(name) || name === "expect") continue
    const [before, value] = [headers[name], raw[at + 1] ?? ""]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}

interface Passed extends Pick<RequestOptions, "method" | "headers"> {
  readonly url: URL
  readonly agents: { readonly plain: Agent; readonly secure: SecureAgent }
  /** Calls back when the other node is lost, until the function that it gives back is called. */
  readonly untilLost: (lost: () => void) => () => void
}

/** Sends a request with its body to another node, and its answer to the client, as both arrive. */
const passOn = (
  exchange: Exchange,
  { agents, headers, method, untilLost, url }: Passed
): Effect.Effect<Reply, Unanswered> =>
  Effect.async((resume) => {
    const { request, response } = exchange
    const options: RequestOptions = {
      ...(method !== undefined && { method }),
      ...(headers !== undefined && { headers }),
      agent: url.protocol === "https:" ? agents.secure : agents.plain
    }
    const end = (exit: Effect.Effect<Reply, Unanswered>) => {
      stopWaiting()
      resume(exit)
    }
    const fail = () => {
      out.destroy()
      end(Effect.fail(new Unanswered({ begun: response.headersSent })))
    }
    const take = (answer: IncomingMessage) => {
      // The service has answered meanwhile, because it is being stopped.
      if (response.headersSent) return out.destroy()
      response.writeHead(answer.statusCode ?? 502, withoutConnection(answer.rawHeaders))
      answer.once("error", fail)
      answer.pipe(response)
    }
    const out = requestToNode(url, options, take)
    const stopWaiting = untilLost(fail)
    out.on("error", fail)
    // A client that goes away ends the request, also while the other node has not answered.
    response.once("close", () => {
      if (response.writableFinished) return end(Effect.succeed(new Reply(response.statusCode)))
      fail()
    })
    request.pipe(out)
    return Effect.sync(fail)
  })
