/**
 * The parts of the messages of agents, what is said into a running turn, what sessions choose for their agents and were told by them, and the
 * forms, pages and notes of interactions.
 */
export const handsOnTurns: ReadonlyArray<string> = [
  `alter table messages add column parts text`,
  `alter table messages add column steering text`,
  `create index messages_steering on messages (turn_id) where steering is not null`,
  `alter table sessions add column options text`,
  `alter table sessions add column permissions text`,
  `alter table sessions add column told text`,
  `alter table interactions add column form text`,
  `alter table interactions add column url text`,
  `alter table interactions add column note text`,
  `alter table interactions add column content text`
]
