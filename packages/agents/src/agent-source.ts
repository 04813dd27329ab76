import { type OnError, ReplyError } from '@reply/core'
import type { Source } from '@reply/core/source'
import { parseArgsStringToArgv } from 'string-argv'
import { opencodeAcpSource } from './acp/opencode.ts'
import { acpSource } from './acp/source.ts'
import { claude } from './claude/source.ts'
import { codex } from './codex/source.ts'

/** The options of `agentSource`. */
export interface AgentOptions {
  /** The folder of the agent, and of sessions without a `directory`. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to your own environment. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Receives errors that stop nothing, for example lines that can't be read. Default: ignored. */
  readonly onError?: OnError | undefined
}

interface NamedOptions extends AgentOptions {
  /** The arguments after the name. */
  readonly args: readonly string[]
}

const named: Readonly<Record<string, (options: NamedOptions) => Source>> = {
  claude,
  codex,
  gemini: ({ args, ...options }) => acpSource({ ...options, command: 'gemini', args: ['--experimental-acp', ...args] }),
}

/** The names that `agentSource` knows. */
export const agentNames: readonly string[] = Object.keys(named)

/**
 * Makes a source from a command line: one of `agentNames`, with further arguments if you like, or the command of an agent
 * that speaks the Agent Client Protocol, for example `opencode acp`. Quotes group words. No shell reads it. Pass the
 * source to `connectSource`, which starts the agent. Throws `invalid` if the command line is empty.
 */
export function agentSource(agent: string, options: AgentOptions = {}): Source {
  const [command, ...args] = parseArgsStringToArgv(agent)
  if (command === undefined || command === '')
    throw new ReplyError(
      'invalid',
      `"${agent}" names no agent: give one of ${agentNames.join(', ')}, or an ACP agent's command line, such as "opencode acp".`,
    )
  // Some agents with a name of their own speak the protocol, too.
  const isAcp = args.some((arg) => /^--(experimental-)?acp$/.test(arg))
  const preset = isAcp || !agentNames.includes(command) ? undefined : named[command]
  if (preset) return preset({ ...options, args })
  // OpenCode's ACP leaves out questions and sub-agents' permissions; its own server has them.
  const [first, ...others] = args
  if (first === 'acp' && /(^|[\\/])opencode(\.exe)?$/.test(command) && !others.includes('--port'))
    return opencodeAcpSource({ ...options, command, args: others })
  return acpSource({ ...options, command, args })
}
