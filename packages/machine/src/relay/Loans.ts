import { randomBytes } from "node:crypto"
import http, { type IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { portOnDemand } from "@reins/base/base/Loopback"
import { Places } from "@reins/base/base/Places"
import { fn } from "@reins/base/base/Traced"
import * as Token from "@reins/base/secrets/Token"
import { Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { credentialsIn, keysInQuery } from "./Presented.js"
import { refuse } from "./Refusal.js"

/** The names of a loan on the listener. */
export interface LoanTerms {
  /** Names the loan in the path. It is no secret. */
  readonly id: string
  /** The paths of the loan begin so. */
  readonly path: string
  /** The secret that every request has to present. */
  readonly token: Redacted.Redacted
}

/**
 * A kind of loan: the one who answers the requests of a borrower. Its methods are called by the listener, return at once and never throw. They
 * get only requests whose token is right.
 */
export interface LoanKind {
  /** Answers a request while the loan is open. Answers that are under way when it closes are broken off. */
  readonly answer: (request: IncomingMessage, response: ServerResponse, terms: LoanTerms) => void
  /** Answers a request while the loan is closed. Absent where it gets the same refusal as a wrong token. */
  readonly answerClosed?: (request: IncomingMessage, response: ServerResponse, terms: LoanTerms) => void
  /** Takes over the connection of a request to upgrade, which is ended when the loan closes. Absent where such requests are refused. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer, terms: LoanTerms) => void
  /** Hears that the loan closes, before its answers are broken off. */
  readonly closing?: () => void
  /** True where the query may present the token too, as `key`. */
  readonly readsQuery?: boolean
}

/** A loan until its scope closes. */
export interface Loan extends LoanTerms {
  /** The port of the listener on 127.0.0.1, which a sandbox has to let through. */
  readonly port: number
  /** Makes the token good until the scope closes, which also breaks off what is under way. A loan is opened by one at a time. */
  readonly open: Effect.Effect<void, never, Scope.Scope>
}

/** The times in milliseconds that a borrower has. It is on this machine, and sends its headers in one piece. */
interface Times {
  readonly headers: number
  /** For the rest of a request that has been answered already. */
  readonly rest: number
}

const defaultTimes: Times = { headers: 10_000, rest: 10_000 }

/**
 * Lends something of the service to a program on this machine: a path and a token on one listener of loopback. The token is good while somebody
 * has opened the loan, for example for a turn. Kinds of loan live in the rooms that they belong to.
 */
export class Loans extends Context.Tag("@reins/core/relay/Loans")<
  Loans,
  {
    /** Makes a loan of a kind until the scope closes. Its token is not good yet. */
    readonly lend: (kind: LoanKind) => Effect.Effect<Loan, never, Scope.Scope>
  }
>() {
  static readonly layerWith = (times: Times) =>
    Layer.scoped(
      Loans,
      Effect.gen(function* () {
        const listener = new Listener(yield* Token.random, times)
        const port = yield* portOnDemand(
          () => listener.server,
          () => listener.closeAll()
        )
        return Loans.of({
          lend: fn("Loans.lend")(function* (kind) {
            const id = randomBytes(12).toString("hex")
            const terms: LoanTerms = { id, path: `/${id}`, token: yield* Token.random }
            const listed: Listed = {
              kind,
              terms,
              isOpen: false,
              held: new Set(),
              places: new Places(maxCalls, maxWaiting)
            }
            yield* Effect.acquireRelease(
              Effect.sync(() => listener.add(listed)),
              () => Effect.sync(() => listener.remove(listed))
            )
            const open = Effect.acquireRelease(
              Effect.sync(() => {
                listed.isOpen = true
              }),
              () => Effect.sync(() => close(listed))
            )
            const loan: Loan = { ...terms, port: yield* port, open }
            return loan
          })
        })
      })
    )

  static readonly layer = Loans.layerWith(defaultTimes)
}

/** A loan as the listener knows it. */
interface Listed {
  readonly kind: LoanKind
  readonly terms: LoanTerms
  isOpen: boolean
  /** The answers and connections under way, and those that wait for a place. */
  readonly held: Set<ServerResponse | Duplex>
  readonly places: Places
}

/** The calls of one loan that are answered at once. Further ones wait, because an agent may take a refusal for the end of its work. */
export const maxCalls = 64

/** The calls of one loan that wait. Beyond them something in the agent is at fault. */
const maxWaiting = 512

/** The connections that have presented no token yet. Those who mean to ask something present one at once. */
const maxStrangers = 256

const close = (loan: Listed): void => {
  loan.isOpen = false
  loan.kind.closing?.()
  for (const each of loan.held) each.destroy()
}

const hold = (loan: Listed, each: ServerResponse | Duplex): void => {
  loan.held.add(each)
  each.once("close", () => loan.held.delete(each))
}

/** Begins once the loan has a place for it, which is free again when the answer or the connection has closed. False where too many wait. */
const inPlace = (loan: Listed, each: ServerResponse | Duplex, begin: () => void): boolean => {
  const leave = loan.places.take(begin)
  if (leave === undefined) return false
  if (each.destroyed) leave()
  else each.once("close", leave)
  return true
}

/** Ends a connection whose request goes on although it has its answer. */
const endAfterAnswer = (request: IncomingMessage, response: ServerResponse, restMs: number): void => {
  response.once("finish", () => {
    if (request.complete) return
    const late = setTimeout(() => request.complete || request.socket.destroy(), restMs).unref()
    request.once("close", () => clearTimeout(late))
  })
}

/** Longer than the HTTP clients of agents keep a connection, so that the listener never closes one that is about to be used again. */
const idleMs = 120_000

/** The server of all loans. A refusal says nothing about any loan. */
class Listener {
  private readonly loans = new Map<string, Listed>()
  private readonly strangers = new Set<Duplex>()
  readonly server: http.Server

  /** A path of no loan is compared with the decoy, and takes as long as a wrong token. */
  constructor(
    private readonly decoy: Redacted.Redacted,
    private readonly times: Times
  ) {
    // A long body may take longer than any fixed time, so each kind of loan bounds the time of its bodies. Only the headers have to arrive soon.
    const limits = {
      requestTimeout: 0,
      headersTimeout: times.headers,
      connectionsCheckingInterval: times.headers / 2,
      keepAliveTimeout: idleMs
    }
    this.server = http
      .createServer(limits, (request, response) => this.answer(request, response))
      .on("connect", (_request, socket: Duplex) => socket.destroy())
      .on("connection", (socket: Socket) => this.admit(socket))
  }

  /** The oldest connection without a token makes room for a new one. */
  private admit(socket: Socket): void {
    this.strangers.add(socket)
    socket.once("close", () => this.strangers.delete(socket))
    if (this.strangers.size <= maxStrangers) return
    for (const oldest of this.strangers) return void oldest.destroy()
  }

  add(loan: Listed): void {
    this.loans.set(loan.terms.id, loan)
    // With a listener of upgrades, Node takes the body off every request that offers one. So there is none before it is needed.
    if (loan.kind.upgrade !== undefined && this.server.listenerCount("upgrade") === 0)
      this.server.on("upgrade", (request, socket, head) => this.upgrade(request, socket, head))
  }

  remove(loan: Listed): void {
    this.loans.delete(loan.terms.id)
    close(loan)
  }

  closeAll(): void {
    for (const loan of this.loans.values()) close(loan)
  }

  /** The loan that the path names, if the request presents its token and no other credential. */
  private find({ headers, url = "" }: IncomingMessage): Listed | undefined {
    const loan = this.loans.get(/^\/([0-9a-f]+)(?=[/?]|$)/.exec(url)?.[1] ?? "")
    const inQuery = loan === undefined || loan.kind.readsQuery === true ? keysInQuery(url) : []
    const given = [...credentialsIn(headers), ...inQuery]
    const token = loan?.terms.token ?? this.decoy
    return given.length > 0 && given.every((value) => Token.matches(value, token)) ? loan : undefined
  }

  private answer(request: IncomingMessage, response: ServerResponse) {
    endAfterAnswer(request, response, this.times.rest)
    const loan = this.find(request)
    if (loan === undefined) return refuseToken(response)
    this.strangers.delete(request.socket)
    // A call that came while the loan was open is of its turn, and ends with it, also in the line.
    if (loan.isOpen) hold(loan, response)
    const begin = () => answerNow(loan, request, response)
    if (!inPlace(loan, response, begin))
      refuse(response, 503, "overloaded_error", "Too many calls of this agent wait. Let it make fewer at once.")
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    socket.on("error", () => socket.destroy())
    const loan = this.find(request)
    const { upgrade } = loan?.kind ?? {}
    if (loan?.isOpen === true && upgrade !== undefined) {
      this.strangers.delete(request.socket)
      hold(loan, socket)
      const begin = () => (loan.isOpen ? upgrade(request, socket, head, loan.terms) : socket.destroy())
      if (!inPlace(loan, socket, begin)) socket.destroy()
      return
    }
    if (!(socket instanceof Socket)) return void socket.destroy()
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once("finish", () => socket.end())
    this.answer(request, response)
  }
}

const answerNow = ({ isOpen, kind, terms }: Listed, request: IncomingMessage, response: ServerResponse): void => {
  if (response.destroyed) return
  if (!isOpen && kind.answerClosed === undefined) refuseToken(response)
  else if (!isOpen) kind.answerClosed?.(request, response, terms)
  else if (request.headers.upgrade !== undefined)
    refuse(response, 400, "invalid_request_error", "Connections cannot be upgraded.")
  else kind.answer(request, response, terms)
}

/** Answers to a token that is not good here and now. */
export const refuseToken = (response: ServerResponse): void =>
  refuse(response, 401, "authentication_error", "The token is not valid, or no turn of it runs.")
