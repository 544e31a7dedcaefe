/** The clients that have logged in to accounts, as digests, so that guesses of strangers stop nobody who is known. A part of the third step. */
export const knownClients: ReadonlyArray<string> = [
  `create table known_clients (
    subject text primary key,
    account_id text not null references accounts(id),
    seen_at text not null
  )`,
  `create index known_clients_account on known_clients (account_id)`,
  `create index known_clients_seen on known_clients (seen_at)`
]
