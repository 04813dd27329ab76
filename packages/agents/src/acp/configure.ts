import { ReplyError } from '@reply/core'
import type { ModelInfo, SourcePrompt } from '@reply/core/source'
import { type Link, toReplyError } from './link.ts'
import type { AcpConfigOption, AcpSession } from './session.ts'
import type { Sessions } from './sessions.ts'

export interface ConfigureOptions {
  readonly link: Link
  readonly deadlineMs: number
  readonly name: string
  readonly sessions: Sessions
  readonly sessionID: string
  readonly wanted: Pick<SourcePrompt, 'agent' | 'model' | 'variant'>
}

/**
 * Sets what a prompt wants before it is sent: the agent as the session's mode, the model and its variant as settings.
 * Throws `unsupported` if the agent doesn't offer it.
 */
export async function configure(options: ConfigureOptions): Promise<void> {
  const { name, sessions, sessionID } = options
  const { agent, model, variant } = options.wanted
  if (agent !== undefined) await setMode(agent)
  if (model !== undefined) await setOption('model', [`${model.providerID}/${model.modelID}`, model.modelID])
  if (variant !== undefined) await setOption('thought_level', [variant])

  async function setMode(mode: string): Promise<void> {
    const details = sessions.details(sessionID)
    if (!details?.modes.some(({ id }) => id === mode)) return await setOption('mode', [mode])
    if (details.modeID === mode) return
    await request('session/set_mode', { sessionId: sessionID, modeId: mode })
    sessions.change(sessionID, { modeID: mode })
  }

  async function setOption(category: string, values: readonly string[]): Promise<void> {
    const config = sessions.details(sessionID)?.config ?? []
    const option = config.find((one) => one.category === category)
    const value = values.find((one) => option?.choices.some((choice) => choice.value === one))
    if (!option || value === undefined) throw lacks(name, category, values[0] ?? '', option)
    if (option.value === value) return
    await request('session/set_config_option', { sessionId: sessionID, configId: option.id, value })
    const changed = config.map((one): AcpConfigOption => (one === option ? { ...one, value } : one))
    sessions.change(sessionID, { config: changed })
  }

  async function request(method: string, params: object): Promise<void> {
    try {
      await options.link.request(method, params, options.deadlineMs)
    } catch (error) {
      throw toReplyError(error, `"${method}" of ${name}`)
    }
  }
}

function lacks(name: string, category: string, value: string, option: AcpConfigOption | undefined): ReplyError {
  const choices = option?.choices.map((choice) => choice.value).join(', ') ?? ''
  const cure = choices === '' ? 'Leave it out' : `Choose one of ${choices}`
  return new ReplyError('unsupported', `${name} has no ${category.replace('_', ' ')} "${value}". ${cure}.`)
}

/** The models that sessions may be set to, by their ids `provider/model`, or as the agent's own. */
export function modelsIn(sessions: readonly AcpSession[], name: string): readonly ModelInfo[] {
  const choices = sessions.flatMap(({ config }) => config.find(({ category }) => category === 'model')?.choices ?? [])
  const models = choices.map((choice): ModelInfo => {
    const at = choice.value.indexOf('/')
    const providerID = at === -1 ? name : choice.value.slice(0, at)
    return { providerID, modelID: choice.value.slice(at + 1), name: choice.name, variants: [] }
  })
  return [...new Map(models.map((model) => [`${model.providerID}/${model.modelID}`, model])).values()]
}
