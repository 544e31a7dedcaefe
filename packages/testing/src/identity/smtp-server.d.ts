/** The part of smtp-server that the tests use. It comes without types. */
declare module "smtp-server" {
  import type { EventEmitter } from "node:events"
  import type { Server } from "node:net"
  import type { Readable } from "node:stream"

  export interface Envelope {
    readonly mailFrom: { readonly address: string } | false
    readonly rcptTo: ReadonlyArray<{ readonly address: string }>
  }

  export interface Connection {
    readonly envelope: Envelope
    readonly secure: boolean
    readonly user: string | undefined
  }

  type Done = (error?: Error & { responseCode?: number }) => void

  export interface Options {
    readonly secure?: boolean
    readonly authOptional?: boolean
    readonly allowInsecureAuth?: boolean
    readonly disabledCommands?: ReadonlyArray<string>
    readonly disableReverseLookup?: boolean
    readonly logger?: boolean
    readonly onAuth?: (
      auth: { readonly username: string; readonly password: string },
      connection: Connection,
      done: (error: Error | null, answer?: { readonly user: string }) => void
    ) => void
    readonly onRcptTo?: (address: { readonly address: string }, connection: Connection, done: Done) => void
    readonly onData?: (stream: Readable, connection: Connection, done: Done) => void
  }

  export class SMTPServer extends EventEmitter {
    constructor(options: Options)
    readonly server: Server
    listen(port: number, host: string, done: () => void): void
    close(done: () => void): void
  }
}
