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

/** The agents that are known by a name or by how their command lines begin. The last three can't ask. */
const named: Readonly<Record<string, (options: AgentOptions) => Source>> = {
  claude,
  codex,
  'codex exec': codexExec,
  gemini: geminiPrompt,
  'opencode run': opencodeRun,
}

/** The names that `agentSource` knows. */
export const agentNames: readonly string[] = Object.keys(named)

/**
 * The source of an agent: one of `agentNames`, or the command line of an agent that speaks the Agent Client Protocol,
 * such as `opencode acp`. Quotes group words, and no shell reads it. For `connectSource`; starts nothing before its
 * first session. Throws `invalid` for an empty command line.
 */
export function agentSource(agent: string, options: AgentOptions = {}): Source {
  const preset = Object.hasOwn(named, agent.trim()) ? named[agent.trim()] : undefined
  if (preset) return preset(options)
  const [command, ...args] = parseArgsStringToArgv(agent)
  if (command === undefined || command === '')
    throw new ReplyError(
      'invalid',
      `"${agent}" names no agent: give one of ${agentNames.join(', ')}, or an ACP agent's command line, such as "opencode acp".`,
    )
  // OpenCode's ACP leaves out questions and sub-agents' permissions; its own server has them.
  const [first, ...others] = args
  if (first === 'acp' && /(^|[\\/])opencode(\.exe)?$/.test(command) && !others.includes('--port'))
    return opencodeAcpSource({ ...options, command, args: others })
  return acpSource({ ...options, command, args })
}
