import {
  asksBeforeActing,
  endsWithRules,
  isDenied,
  type PermissionRule,
  toGuardRules,
  unguardedError,
} from '../guard-rules.ts'
import type { Guarded, GuardTarget } from '../port.ts'
import { toReadAgentRules, toReadCommandStarts, toReadRules, toReadVersion } from './decode/rest-responses.ts'
import type { Rest } from './rest.ts'
import { obeysSessionRules } from './version.ts'

/** The config that makes OpenCode 1 ask in all sessions, including those of sub-agents. It takes the shell away. */
export const configLines =
  '"permission": { "*": "ask", "bash": "deny", "read": { "*": "allow", "*.env": "ask", "*.env.*": "ask" }, "glob": "allow", "grep": "allow", "list": "allow", "todowrite": "allow", "todoread": "allow", "question": "allow", "skill": "allow" }'

const cure = `Update OpenCode to 1.14 or newer, or add to its config: ${configLines}`

export interface SessionGuard {
  /** Returns the rules that a new session needs. Empty if the server's config already asks. */
  rulesFor(target: Pick<GuardTarget, 'directory' | 'agent'>): Promise<readonly PermissionRule[]>
  /** Adds the missing rules to a session. See `Source.guard`. */
  guard(target: GuardTarget): Promise<Guarded>
}

/**
 * OpenCode 1 asks for the commands that its parser finds in a line. A line without one runs without asking, whatever
 * the rules: `> file` empties any file, and in `[[ 'a[$(touch file)]' -eq 0 ]]` bash runs the quoted text (measured on
 * 1.1.65, 1.2.27, 1.14.41, 1.17.19 and 1.18.33). Only a rule that denies the whole tool prevents that.
 */
const denyShell: PermissionRule = { permission: 'bash', pattern: '*', action: 'deny' }

/**
 * Creates a guard for sessions of OpenCode 1, which carry permission rules that come after those of their agent.
 * Measured on 1.14.41, 1.17.19, 1.18.33 and 1.18.34: `POST /session` takes them, and `PATCH` appends them. A run reads
 * them once, when it begins. A fork loses them. A sub-agent's session doesn't inherit rules that ask, and a command
 * with `subtask` starts one without asking.
 */
export function createSessionGuard(
  rest: Pick<Rest, 'health' | 'agents' | 'commands' | 'session' | 'addRules'>,
  name: string,
): SessionGuard {
  return { rulesFor, guard }

  /** Returns the rules that a new session needs. Empty if the server's config already asks. */
  async function rulesFor(target: GuardTarget): Promise<readonly PermissionRule[]> {
    const { areGuarded, answeringRules } = await readAgents(target)
    return areGuarded ? [] : guardingRules(answeringRules)
  }

  /**
   * Makes the session ask before it acts, and resolves with when that applies: `always` if the config and the session's
   * own rules ask, else `next-run`. Then it adds the guard's rules unless they are the session's last, and reads them
   * back. Without a session, only checks that the server obeys rules. Rejects with `unguarded` if it can't be guarded.
   */
  async function guard({ sessionID, directory, agent, command }: GuardTarget): Promise<Guarded> {
    const { areGuarded, answeringRules } = await readAgents({ directory, agent })
    if (!areGuarded) await requireRuleSupport()
    if (!areGuarded && command !== undefined) await requireCommandWithoutSubagent({ command, directory, agent })
    if (sessionID === undefined) return areGuarded ? 'always' : 'next-run'
    const place = { sessionID, directory }
    const sessionRules = toReadRules(await rest.session(place))
    if (areGuarded && isGuarded([...answeringRules, ...sessionRules])) return 'always'
    const rules = guardingRules(answeringRules)
    if (endsWithRules(sessionRules, rules)) return 'next-run'
    await rest.addRules(place, rules)
    if (endsWithRules(toReadRules(await rest.session(place)), rules)) return 'next-run'
    throw unguardedError(`Session ${sessionID} of ${name}`, `This server can't add rules to it. ${cure}`)
  }

  /** Rejects with `unguarded` if the server's version doesn't obey a session's rules. */
  async function requireRuleSupport(): Promise<void> {
    const version = toReadVersion(await rest.health())
    if (!obeysSessionRules(version))
      throw unguardedError(`OpenCode ${version ?? 'of an unknown version'} at ${name}`, cure)
  }

  /**
   * Returns whether all agents ask by the server's own config and have no shell, and the rules of the agent that
   * answers: without a name the first that can be prompted. They are empty if it isn't in the list.
   */
  async function readAgents({ directory, agent }: GuardTarget) {
    const agents = toReadAgentRules(await rest.agents(directory))
    const isAnswering = agent === undefined ? isPrimary : (info: { readonly name: string }) => info.name === agent
    return {
      areGuarded: agents.length > 0 && agents.every(({ rules }) => isGuarded(rules)),
      answeringRules: agents.find(isAnswering)?.rules ?? [],
    }
  }

  /**
   * Rejects with `unguarded` if the command may start a sub-agent: if its `subtask` is true, if it says nothing and its
   * agent is a sub-agent or unknown, or if the commands can't be read. Does nothing for an unknown command, which the
   * server itself answers with an error.
   */
  async function requireCommandWithoutSubagent({
    command,
    directory,
    agent,
  }: Omit<GuardTarget, 'sessionID'>): Promise<void> {
    const [commands, agents] = await Promise.all([rest.commands(directory), rest.agents(directory)])
    const commandStarts = toReadCommandStarts(commands)
    const commandStart = commandStarts?.find(({ name }) => name === command)
    if (commandStarts && !commandStart) return
    const answeringAgent = commandStart?.agent ?? agent
    const isByPrimary =
      answeringAgent === undefined ||
      toReadAgentRules(agents).some((info) => info.name === answeringAgent && isPrimary(info))
    if (commandStart && (commandStart.subtask === false || (commandStart.subtask !== true && isByPrimary))) return
    throw unguardedError(
      `A sub-agent that the command /${command} starts`,
      `Only people who may approve can run it, unless the config of ${name} asks in all sessions: ${configLines}`,
    )
  }
}

/** Returns the rules that make an agent ask before it acts, and deny the shell. */
function guardingRules(agentRules: readonly PermissionRule[]): readonly PermissionRule[] {
  return [...toGuardRules(agentRules), denyShell]
}

/** Whether an agent with these rules asks before it acts and has no shell. */
function isGuarded(rules: readonly PermissionRule[]): boolean {
  return asksBeforeActing(rules) && isDenied(denyShell.permission, rules)
}

/** Whether an agent can be prompted. The list begins with the server's default agent. */
function isPrimary({ mode }: { readonly mode: string }): boolean {
  return mode !== 'subagent'
}
