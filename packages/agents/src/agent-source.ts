import { type OnError, ReplyError } from '@reply/core'
import type { Source } from '@reply/core/source'
import { parseArgsStringToArgv } from 'string-argv'
import { opencodeAcpSource } from './acp/opencode.ts'
import type { AcpOptions } from './acp/options.ts'
import { acpSource } from './acp/source.ts'
import { claude } from './claude/source.ts'
import { codex } from './codex/source.ts'

/** The options of `agentSource`. */
export interface AgentSourceOptions {
  /** The folder of the agent, and of sessions without a `directory`. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to your own environment. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * The address of a `codex` that runs already, for example `ws://127.0.0.1:4500`. Nothing is started then, and `cwd` is a folder of
   * its computer. Only for `codex` without arguments and `env`. Default: none.
   */
  readonly url?: string | undefined
  /** The token of what listens at `url`. Default: none. */
  readonly token?: string | undefined
  /**
   * Awaited right before each message to what listens at `url` is sent that changes something, as in the options of `codex`. Default:
   * all messages are sent immediately.
   */
  readonly beforeChange?: (() => Promise<void>) | undefined
  /**
   * MCP servers for each session, as in the options of `acp`. `claude` and `codex` read theirs from their own settings. Default: none.
   */
  readonly mcpServers?: AcpOptions['mcpServers']
  /** Receives errors that stop nothing, for example lines that can't be read. Default: ignored. */
  readonly onError?: OnError | undefined
}

/** The options of `agentSource` and the arguments after a name. */
interface PresetOptions extends Omit<AgentSourceOptions, 'url' | 'token' | 'beforeChange'> {
  /** The arguments after the name. */
  readonly args: readonly string[]
}

/** Creates the source of each name that `agentSource` knows. */
const presets: Readonly<Record<string, (options: PresetOptions) => Source>> = {
  claude,
  codex,
  gemini: ({ args, ...options }) => acpSource({ ...options, command: 'gemini', args: ['--experimental-acp', ...args] }),
}

/** The names that `agentSource` knows. */
export const agentNames: readonly string[] = Object.keys(presets)

/**
 * Returns a source for the agent of a command line: one of `agentNames`, optionally with further arguments, or the
 * command of an agent that speaks the Agent Client Protocol, for example `opencode acp`. With `--acp` or
 * `--experimental-acp`, the command speaks that protocol, also if it is one of the names. `opencode acp` without
 * `--port` uses OpenCode's own server. Quotes group words. No shell reads the line. Nothing starts until you pass the
 * source to `connectSource`. Throws `invalid` if the command line is empty, for a `url` of an agent that can't be reached at
 * one, and for `mcpServers` of an agent that takes none.
 */
export function agentSource(agent: string, given: AgentSourceOptions = {}): Source {
  const { url, token, beforeChange, ...options } = given
  const [command, ...args] = parseArgsStringToArgv(agent)
  if (command === undefined || command === '')
    throw new ReplyError(
      'invalid',
      `"${agent}" names no agent. Give one of ${agentNames.join(', ')}, or the command line of an ACP agent, for example "opencode acp".`,
    )
  // Agents with a preset may also speak the protocol.
  const isAcp = args.some((arg) => /^--(experimental-)?acp$/.test(arg))
  const preset = isAcp || !agentNames.includes(command) ? undefined : presets[command]
  // The others speak the protocol.
  if (options.mcpServers?.length && (preset === claude || preset === codex))
    throw new ReplyError(
      'invalid',
      `${command} reads its MCP servers from its own settings. Add them there, and remove \`mcpServers\`.`,
    )
  if (url !== undefined || token !== undefined) {
    if (command === 'codex' && !isAcp)
      return codex({ ...options, url, token, beforeChange, args: args.length === 0 ? undefined : args })
    throw new ReplyError(
      'invalid',
      `${command} is started, so it has no \`url\` and no \`token\`. Leave them out, or use codex.`,
    )
  }
  if (preset) return preset({ ...options, args })
  // OpenCode's ACP leaves out questions and permissions of sub-agents. Its own server has them.
  const [first, ...others] = args
  if (first === 'acp' && /(^|[\\/])opencode(\.exe)?$/.test(command) && !others.includes('--port'))
    return opencodeAcpSource({ ...options, command, args: others })
  return acpSource({ ...options, command, args })
}
