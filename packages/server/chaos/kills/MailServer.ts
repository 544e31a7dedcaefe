import { buffer } from "node:stream/consumers"
import { SMTPServer } from "smtp-server"

export interface ReceivedMail {
  readonly messageId: string
  readonly to: ReadonlyArray<string>
}

export interface MailServer {
  readonly url: string
  /** The mails that it took, in order. */
  readonly mails: ReadonlyArray<ReceivedMail>
  readonly close: () => Promise<void>
}

/** A mail server on the loopback that takes everything. */
export const startMailServer = (): Promise<MailServer> =>
  new Promise((resolve) => {
    const mails: Array<ReceivedMail> = []
    const server = new SMTPServer({
      authOptional: true,
      disableReverseLookup: true,
      disabledCommands: ["STARTTLS"],
      onData: (stream, { envelope }, done) => {
        const take = (body: Buffer) => {
          const [, messageId = ""] = /^Message-ID: (.+)\r$/im.exec(body.toString("utf8")) ?? []
          mails.push({ messageId, to: envelope.rcptTo.map(({ address }) => address) })
          done()
        }
        // A mail whose sender was killed in its midst was not taken.
        buffer(stream).then(take, () => {})
      }
    })
    // A client that is killed in the middle is what this suite is about.
    server.on("error", () => {})
    server.listen(0, "127.0.0.1", () => {
      const address = server.server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({
        url: `smtp://127.0.0.1:${port}`,
        mails,
        close: () => new Promise((closed) => server.close(closed))
      })
    })
  })
