import type { Mail } from "./Mailer.js"

/** Nothing in a mail makes this program read a file or open a URL. */
export const closed = { disableFileAccess: true, disableUrlAccess: true }

/** Loaded with the first mail: it would be a seventh of what every server and command reads at its start. */
export const library = async () => (await import("nodemailer")).default

/** A mail as the library takes it, with a Message-ID that its key makes. */
export const envelope = (mail: Mail, key: string, from: string) => ({
  from,
  messageId: `<${key}@${/@([^\s>]+)/.exec(from)?.[1] ?? "localhost"}>`,
  // As an object, so that nothing in an address is read as a second one.
  to: { name: "", address: mail.to },
  subject: mail.subject,
  // With the line ends of mail, else the encoder folds lines where they are short, and a link in the middle.
  text: mail.text.replaceAll("\n", "\r\n"),
  textEncoding: "quoted-printable" as const
})

/** The code of the system or of the library, as in `ECONNREFUSED`. */
export const mailCode = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "unknown"
