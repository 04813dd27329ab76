import type { AgentInfo, CommandInfo, ModelInfo } from '@reply/core/source'
import type { AcpSession } from './decode/session.ts'

/** Returns a session without commands, modes and settings. */
export function emptySession(sessionID: string): AcpSession {
  return { sessionID, commands: [], modes: [], config: [] }
}

/** Returns the commands of all these sessions, without duplicates. */
export function commandsIn(sessions: readonly AcpSession[]): readonly CommandInfo[] {
  return uniqueBy(sessions.flatMap(({ commands }) => commands))
}

/** Returns the modes of all these sessions, without duplicates, each as primary. A prompt selects one by its `agent`. */
export function agentsIn(sessions: readonly AcpSession[]): readonly AgentInfo[] {
  return uniqueBy(sessions.flatMap(modesOf)).map((mode) => ({ ...mode, isPrimary: true }))
}

/** Returns the modes of a session, and the choices of its setting for the mode, which have no description. */
function modesOf({ modes, config }: AcpSession) {
  const setting = config.find(({ category }) => category === 'mode')?.choices ?? []
  const listed = modes.map(({ id, description }) => ({ name: id, description }))
  return [...listed, ...setting.map(({ value }) => ({ name: value, description: undefined }))]
}

/** Returns the items without those whose name comes again later. The last one counts, at the place of the first. */
function uniqueBy<T extends { readonly name: string }>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()]
}

/**
 * Returns the models of all these sessions, without duplicates, from their settings. An id without `provider/` gets the
 * agent's name as its provider.
 */
export function modelsIn(sessions: readonly AcpSession[], name: string): readonly ModelInfo[] {
  const choices = sessions.flatMap(({ config }) => config.find(({ category }) => category === 'model')?.choices ?? [])
  const models = choices.map((choice): ModelInfo => {
    const at = choice.value.indexOf('/')
    const providerID = at === -1 ? name : choice.value.slice(0, at)
    return { providerID, modelID: choice.value.slice(at + 1), name: choice.name, variants: [] }
  })
  return [...new Map(models.map((model) => [`${model.providerID}/${model.modelID}`, model])).values()]
}
