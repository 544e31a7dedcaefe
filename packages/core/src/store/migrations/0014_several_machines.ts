/**
 * The things that all machines of an installation have to agree on, as the first of them has said them: a digest that only the right key ring
 * makes, and paths. A session notes at which paths its native session began, because the agent's own state names them.
 */
export const severalMachines: ReadonlyArray<string> = [
  `create table agreements (
    name text primary key,
    value text not null
  )`,
  "alter table sessions add column native_paths text"
]
