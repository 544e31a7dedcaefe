import { failedStatementOf } from "./FailedStatement.js"

/** The failures that an operator can mend, by the SQLSTATE of PostgreSQL or the code of the system. */
const reasons: Readonly<Record<string, string>> = {
  "28000":
    "PostgreSQL refuses the user of REINS_DATABASE_URL. Create the user and give it LOGIN, or let it in by a line of pg_hba.conf.",
  "28P01": "PostgreSQL refuses the password of the user in REINS_DATABASE_URL. Correct the password.",
  "3D000": "PostgreSQL has no database of the name in REINS_DATABASE_URL. Create it, or correct the name.",
  "3F000": "PostgreSQL has no schema of the user's search_path. Create it, or correct the search_path.",
  "42501":
    "PostgreSQL does not permit the user of REINS_DATABASE_URL what Reins needs (42501). Make the user the owner of the database, or grant it CREATE and USAGE on the schema and all rights on its tables.",
  "25006":
    "PostgreSQL takes no writes from the user of REINS_DATABASE_URL. Name the primary server and no standby, and see that default_transaction_read_only is off.",
  "53100": "The disk of PostgreSQL is full. Make room on it.",
  "53200": "PostgreSQL has no memory left. Give it more, or close other connections.",
  "53300":
    "PostgreSQL takes no more connections. Lower REINS_DATABASE_CONNECTIONS, close other connections, or raise max_connections or the limit of the user or the database.",
  "55P03":
    "PostgreSQL gave up a wait for a lock, because others hold it longer than lock_timeout allows. Try again when they have ended, or raise lock_timeout.",
  "57014":
    "PostgreSQL ended a statement before it was done, as statement_timeout lets it. Raise statement_timeout for the user of REINS_DATABASE_URL, or try again.",
  "40P01": "PostgreSQL ended a transaction that waited for another, which waited for it. Try again.",
  "57P01":
    "PostgreSQL ended the connection, because it is being stopped or an operator ended it. Try again when it takes connections.",
  "57P02":
    "PostgreSQL ended every connection, because one of its processes failed. Try again when it takes connections.",
  "57P03": "PostgreSQL takes no connections yet, because it is being started or stopped. Try again in a moment.",
  "22021": "PostgreSQL refuses a text that its encoding cannot hold. Use a database with the encoding UTF8.",
  "22P05": "PostgreSQL refuses a text that its encoding cannot hold. Use a database with the encoding UTF8."
}

/** Codes of Node for a certificate that it does not trust. */
const untrusted =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/

const noTls =
  "The PostgreSQL server has no TLS, and REINS_DATABASE_URL asks for it. Turn on ssl at the server, or take sslmode out of the URL."
const tlsWanted =
  "PostgreSQL lets the user of REINS_DATABASE_URL in over TLS alone. Add ?sslmode=verify-full to the URL, or correct pg_hba.conf."

/** The sentence for the operator about a refusal of PostgreSQL; undefined where none is known. It quotes nothing of the refusal. */
export const operatorReason = (failure: unknown): string | undefined => {
  const words = wordsOf(failure)
  const code = failedStatementOf(failure)?.code
  if (code === undefined) return /does not support SSL/.test(words) ? noTls : undefined
  if (code === "28000" && /no encryption|SSL off/.test(words)) return tlsWanted
  if (untrusted.test(code))
    return `The certificate of the PostgreSQL server is not trusted (${code}). Name its authority with sslrootcert in REINS_DATABASE_URL or NODE_EXTRA_CA_CERTS, and the server by the name in its certificate.`
  return reasons[code]
}

/** The words of the innermost error. */
const wordsOf = (failure: unknown): string => {
  let error = failure
  while (error instanceof Error && error.cause instanceof Error && error.cause !== error) error = error.cause
  return error instanceof Error ? error.message : ""
}
