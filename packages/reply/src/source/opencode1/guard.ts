import {
  asksBeforeActing,
  endsWithRules,
  isDenied,
  type PermissionRule,
  toGuardRules,
  unguardedError,
} from '../guard-rules.ts'
import type { Guarded, GuardTarget } from '../port.ts'
import { toReadAgentRules, toReadCommandStarts, toReadRules, toReadVersion } from './decode/rest.ts'
import type { Rest } from './rest.ts'
import { obeysSessionRules } from './version.ts'

/** The config that makes OpenCode 1 ask in all sessions, including those of sub-agents. It takes the shell away. */
export const configLines =
  '"permission": { "*": "ask", "bash": "deny", "read": { "*": "allow", "*.env": "ask", "*.env.*": "ask" }, "glob": "allow", "grep": "allow", "list": "allow", "todowrite": "allow", "todoread": "allow", "question": "allow", "skill": "allow" }'

const cure = `Update OpenCode to 1.14 or newer, or add to its config: ${configLines}`

export interface SessionGuard {
  /** The rules that a new session needs. Empty if the server's config already asks. */
  rulesFor(target: Pick<GuardTarget, 'directory' | 'agent'>): Promise<readonly PermissionRule[]>
  /** See `Source.guard`. */
  guard(target: GuardTarget): Promise<Guarded>
}

/**
 * OpenCode 1 asks for the commands that its parser finds in a line. A line without one runs without asking, whatever
 * the rules: `> file` empties any file, and in `[[ 'a[$(touch file)]' -eq 0 ]]` bash runs the quoted text (measured on
 * 1.1.65, 1.2.27, 1.14.41, 1.17.19 and 1.18.33). Only a rule that denies the whole tool prevents that.
 */
const noShell: PermissionRule = { permission: 'bash', pattern: '*', action: 'deny' }

/**
 * Guards sessions of OpenCode 1, which carry permission rules that come after those of their agent. Measured on
 * 1.14.41, 1.17.19, 1.18.33 and 1.18.34: `POST /session` takes them, and `PATCH` appends them. A run reads them once,
 * when it begins. A fork loses them. A sub-agent's session doesn't inherit rules that ask, and a command with `subtask`
 * starts one without asking.
 */
export function createSessionGuard(options: {
  readonly rest: Pick<Rest, 'health' | 'agents' | 'commands' | 'session' | 'addRules'>
  /** Names the server in errors. */
  readonly name: string
}): SessionGuard {
  const { rest, name } = options
  return { rulesFor, guard }

  async function rulesFor(target: GuardTarget): Promise<readonly PermissionRule[]> {
    const { areGuarded, meant } = await agentsOf(target)
    return areGuarded ? [] : rulesOver(meant)
  }

  async function guard({ sessionID, directory, agent, command }: GuardTarget): Promise<Guarded> {
    const { areGuarded, meant } = await agentsOf({ directory, agent })
    if (!areGuarded) await requireRules()
    if (!areGuarded && command !== undefined) await requireNoSubagent({ command, directory, agent })
    if (sessionID === undefined) return areGuarded ? 'always' : 'next-run'
    const place = { sessionID, directory }
    const own = toReadRules(await rest.session(place))
    if (areGuarded && isSafe([...meant, ...own])) return 'always'
    const rules = rulesOver(meant)
    if (endsWithRules(own, rules)) return 'next-run'
    await rest.addRules(place, rules)
    if (endsWithRules(toReadRules(await rest.session(place)), rules)) return 'next-run'
    throw unguardedError(`Session ${sessionID} of ${name}`, `This server can't add rules to it. ${cure}`)
  }

  async function requireRules(): Promise<void> {
    const version = toReadVersion(await rest.health())
    if (!obeysSessionRules(version))
      throw unguardedError(`OpenCode ${version ?? 'of an unknown version'} at ${name}`, cure)
  }

  /** Whether all agents ask by the server's own config and have no shell, and the rules of the agent that answers. */
  async function agentsOf({ directory, agent }: GuardTarget) {
    const agents = toReadAgentRules(await rest.agents(directory))
    const isMeant = agent === undefined ? isPrimary : (one: { readonly name: string }) => one.name === agent
    return {
      areGuarded: agents.length > 0 && agents.every(({ rules }) => isSafe(rules)),
      meant: agents.find(isMeant)?.rules ?? [],
    }
  }

  async function requireNoSubagent({ command, directory, agent }: Omit<GuardTarget, 'sessionID'>): Promise<void> {
    const [commands, agents] = await Promise.all([rest.commands(directory), rest.agents(directory)])
    const starts = toReadCommandStarts(commands)
    const start = starts?.find((one) => one.name === command)
    // The server itself answers an unknown command with an error.
    if (starts && !start) return
    const answering = start?.agent ?? agent
    const isByPrimary =
      answering === undefined || toReadAgentRules(agents).some((one) => one.name === answering && isPrimary(one))
    if (start && (start.subtask === false || (start.subtask !== true && isByPrimary))) return
    throw unguardedError(
      `A sub-agent that the command /${command} starts`,
      `Only people who may approve can run it, unless the config of ${name} asks in all sessions: ${configLines}`,
    )
  }
}

function rulesOver(agent: readonly PermissionRule[]): readonly PermissionRule[] {
  return [...toGuardRules(agent), noShell]
}

function isSafe(rules: readonly PermissionRule[]): boolean {
  return asksBeforeActing(rules) && isDenied(noShell.permission, rules)
}

/** Primary agents can be prompted. The list begins with the server's default agent. */
function isPrimary({ mode }: { readonly mode: string }): boolean {
  return mode !== 'subagent'
}
