import { randomBytes } from "node:crypto"
import type { Duplex } from "node:stream"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { portOnDemand } from "@reins/base/base/Loopback"
import { fn } from "@reins/base/base/Traced"
import * as Token from "@reins/base/secrets/Token"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { allowedBy } from "./Address.js"
import { connectProxy, type Leave } from "./ConnectProxy.js"
import { type GuardOptions, guardedConnect } from "./Dial.js"
import { guardedAgents } from "./GuardedAgents.js"
import { checkedAddress } from "./GuardedSocket.js"

/** The places that a program may connect to. */
export interface Destinations {
  /** Undefined for a place that it may connect to, else a sentence for a person that refuses it. */
  readonly refusal: (host: string, port: number) => string | undefined
  /** False where private hosts stay closed, although the operator allows them to the server itself. */
  readonly privateHosts: boolean
}

/** A proxy on loopback that lets one program out to its destinations. */
export interface Passage {
  /** The proxy for `http.proxy` and `HTTPS_PROXY`, with a name and a password that are good until the scope closes. It is a secret. */
  readonly url: Redacted.Redacted
  /** The port of loopback that it listens on, which a sandbox has to let through. */
  readonly port: number
  /** The reason why the newest refused connection was refused; undefined while none was. */
  readonly refused: () => string | undefined
}

/** The variables by which programs find the proxy. Both spellings are in use. */
export const proxyVariables = ({ url }: Passage): Record<string, Redacted.Redacted> =>
  Object.fromEntries(["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map((name) => [name, url]))

/**
 * The one way out for programs that connect by themselves: git, and agents. It goes by the same rules as `Outbound`: public addresses only, a
 * name is looked up once, and private hosts are those that the operator allows. It has a port of its own beside that of `relay/Loans.ts`, because
 * a sandbox lets ports through and not tokens. So an agent that may connect nowhere cannot even ask the proxy.
 */
export class WayOut extends Context.Tag("@reins/core/outbound/WayOut")<
  WayOut,
  {
    /** Lets a program out until the scope closes, which also breaks off its connections. */
    readonly open: (destinations: Destinations) => Effect.Effect<Passage, never, Scope.Scope>
    /** True where programs reach nothing but through a passage, because the proxy of the operator is the way out of the machine. */
    readonly isOnlyWay: boolean
    /** True for a host that the operator allows at any address and without TLS. */
    readonly allows: (host: string, port: number) => boolean
    /**
     * The address to connect to, for a program that no proxy serves. It is given in place of the name, which is not looked up again. Fails with
     * a sentence for a person.
     */
    readonly addressOf: (host: string, port: number) => Effect.Effect<string, string>
  }
>() {
  static readonly layerWith = (guard: GuardOptions) =>
    Layer.scoped(
      WayOut,
      Effect.gen(function* () {
        const leaves = new Map<string, Leave>()
        const port = yield* portOnDemand(
          () => connectProxy(leaves),
          () => endAll(leaves)
        )
        const ways = { own: wayOf(guard), public: wayOf({ ...guard, allowPrivateHosts: [] }) }
        return WayOut.of({
          isOnlyWay: guard.egress !== undefined && guard.egress !== null,
          allows: allowedBy(guard.allowPrivateHosts),
          addressOf: (host, at) => Effect.mapError(checkedAddress(guard, host, at), ({ message }) => message),
          open: fn("WayOut.open")(function* ({ privateHosts, refusal }) {
            const token = yield* Token.random
            const id = randomBytes(12).toString("hex")
            const way = privateHosts ? ways.own : ways.public
            let last: string | undefined
            const refused = (message: string) => {
              last = message
            }
            yield* Effect.acquireRelease(
              Effect.sync(() => leaves.set(id, { id, token, refusal, refused, open: new Set<Duplex>(), ...way })),
              () => Effect.sync(() => end(leaves, id))
            )
            const at = yield* port
            const url = Redacted.make(`http://${id}:${Redacted.value(token)}@127.0.0.1:${at}`)
            return { url, port: at, refused: () => last }
          })
        })
      })
    )

  static readonly layer = Layer.unwrapEffect(
    Effect.map(CoreConfig, ({ allowPrivateHosts, egress }) => WayOut.layerWith({ allowPrivateHosts, egress }))
  )
}

const wayOf = (guard: GuardOptions) => ({
  connect: guardedConnect(guard),
  agent: guardedAgents(guard, { keepAlive: false }).http
})

const end = (leaves: Map<string, Leave>, id: string): void => {
  const open = leaves.get(id)?.open ?? []
  leaves.delete(id)
  for (const stream of open) stream.destroy()
}

const endAll = (leaves: Map<string, Leave>): void => {
  for (const id of [...leaves.keys()]) end(leaves, id)
}
