import type { AgentInfo, CommandInfo } from '@reply/core/source'
import type { AcpSession } from './session.ts'

/** The commands that any of these sessions has. */
export function commandsIn(sessions: readonly AcpSession[]): readonly CommandInfo[] {
  return uniqueBy(sessions.flatMap(({ commands }) => commands))
}

/** The modes that any of these sessions has. A prompt selects one by its `agent`. */
export function agentsIn(sessions: readonly AcpSession[]): readonly AgentInfo[] {
  return uniqueBy(sessions.flatMap(modesOf)).map((mode) => ({ ...mode, isPrimary: true }))
}

function modesOf({ modes, config }: AcpSession) {
  const setting = config.find(({ category }) => category === 'mode')?.choices ?? []
  const listed = modes.map(({ id, description }) => ({ name: id, description }))
  return [...listed, ...setting.map(({ value }) => ({ name: value, description: undefined }))]
}

function uniqueBy<T extends { readonly name: string }>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()]
}
