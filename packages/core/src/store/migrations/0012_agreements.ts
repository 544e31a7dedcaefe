/**
 * The things that all machines of an installation have to agree on, as the first of them has said them: a digest that only the right key ring
 * makes, and paths.
 */
export const agreements: ReadonlyArray<string> = [
  `create table agreements (
    name text primary key,
    value text not null
  )`
]
