import { acpSource, opencodeAcpSource } from '@reply/acp'
import { type OnError, ReplyError } from '@reply/core'
import type { Source } from '@reply/core/source'
import { claude, codex, codexExec, geminiPrompt, opencodeRun } from '@reply/process'
import { parseArgsStringToArgv } from 'string-argv'

/** Where an agent runs. */
export interface AgentOptions {
  /** The folder to start it in, and of sessions that name none. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to this process's environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Receives errors that stop nothing, such as lines that could not be read. Default: they are ignored. */
  readonly onError?: OnError | undefined
}

interface PresetOptions extends AgentOptions {
  /** What follows the name. */
  readonly args: readonly string[]
}

/** The agents that are known by how their command lines begin; longer names first. The one-way ones can't ask. */
const named: readonly (readonly [string, (options: PresetOptions) => Source])[] = [
  ['codex exec', codexExec],
  ['opencode run', opencodeRun],
  ['claude', claude],
  ['codex', codex],
  ['gemini', geminiPrompt],
]

/** The names that `agentSource` knows. */
export const agentNames: readonly string[] = named.map(([name]) => name)

/**
 * The source of an agent: one of `agentNames`, with further arguments if there are any, or the command line of an agent
 * that speaks the Agent Client Protocol, such as `opencode acp`. Quotes group words, and no shell reads it. For
 * `connectSource`; starts nothing before it is connected. Throws `invalid` for an empty command line.
 */
export function agentSource(agent: string, options: AgentOptions = {}): Source {
  const [command, ...args] = parseArgsStringToArgv(agent)
  if (command === undefined || command === '')
    throw new ReplyError(
      'invalid',
      `"${agent}" names no agent: give one of ${agentNames.join(', ')}, or an ACP agent's command line, such as "opencode acp".`,
    )
  const words = [command, ...args]
  const [name = '', preset] = named.find(([name]) => name.split(' ').every((word, at) => words[at] === word)) ?? []
  // Gemini CLI speaks the protocol, too.
  const isAcp = args.some((arg) => /^--(experimental-)?acp$/.test(arg))
  if (preset && !isAcp) return preset({ ...options, args: words.slice(name.split(' ').length) })
  // OpenCode's ACP leaves out questions and sub-agents' permissions; its own server has them.
  const [first, ...others] = args
  if (first === 'acp' && /(^|[\\/])opencode(\.exe)?$/.test(command) && !others.includes('--port'))
    return opencodeAcpSource({ ...options, command, args: others })
  return acpSource({ ...options, command, args })
}
