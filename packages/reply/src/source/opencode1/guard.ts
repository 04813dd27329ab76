import { asksBeforeActing, endWith, guardRules, type PermissionRule, unguarded } from '../guard-rules.ts'
import type { Guarded, GuardTarget } from '../port.ts'
import { toReadAgentRules, toReadCommandStarts, toReadRules } from './decode/rest.ts'
import type { Rest } from './rest.ts'

/** How an operator makes OpenCode 1 ask in all sessions, its sub-agents' among them. */
export const configLines =
  '"permission": { "*": "ask", "read": { "*": "allow", "*.env": "ask", "*.env.*": "ask" }, "glob": "allow", "grep": "allow", "list": "allow", "todowrite": "allow", "todoread": "allow", "question": "allow", "skill": "allow" }'

export interface SessionGuard {
  /** The rules that a new session needs. Empty if the server's config asks by itself. */
  rulesFor(target: Pick<GuardTarget, 'directory' | 'agent'>): Promise<readonly PermissionRule[]>
  /** See `Source.guard`. */
  guard(target: GuardTarget): Promise<Guarded>
}

/**
 * Sessions of OpenCode 1 carry permission rules that come after those of their agent. Measured on 1.1.65, 1.2.27, 1.14.41,
 * 1.17.19, 1.18.33 and 1.18.34: `POST /session` takes them on all, `PATCH` appends them from 1.14 on. A run reads them
 * once, when it begins. A fork loses them. A sub-agent's session doesn't inherit rules that ask, and a command with
 * `subtask` starts one without asking.
 */
export function createSessionGuard(options: {
  readonly rest: Pick<Rest, 'agents' | 'commands' | 'session' | 'addRules'>
  /** Names the server in errors. */
  readonly name: string
}): SessionGuard {
  const { rest, name } = options
  return { rulesFor, guard }

  async function rulesFor(target: GuardTarget): Promise<readonly PermissionRule[]> {
    const { areGuarded, meant } = await agentsOf(target)
    return areGuarded ? [] : guardRules(meant)
  }

  async function guard({ sessionID, directory, agent, command }: GuardTarget): Promise<Guarded> {
    const { areGuarded, meant } = await agentsOf({ directory, agent })
    if (!areGuarded && command !== undefined) await requireNoSubagent({ command, directory, agent })
    if (sessionID === undefined) return areGuarded ? 'always' : 'next-run'
    const place = { sessionID, directory }
    const own = toReadRules(await rest.session(place))
    if (areGuarded && asksBeforeActing([...meant, ...own])) return 'always'
    const rules = guardRules(meant)
    if (endWith(own, rules)) return 'next-run'
    // Servers before 1.14 answer as if they had taken them.
    await rest.addRules(place, rules)
    if (endWith(toReadRules(await rest.session(place)), rules)) return 'next-run'
    throw unguarded(
      `Session ${sessionID} of ${name}`,
      `This server adds no rules to a session that exists: begin a new session, update OpenCode to 1.14 or newer, or add to its config: ${configLines}`,
    )
  }

  /** Whether all agents ask by the server's own config, and the rules of the one that answers. */
  async function agentsOf({ directory, agent }: GuardTarget) {
    const agents = toReadAgentRules(await rest.agents(directory))
    const isMeant = agent === undefined ? isPrimary : (one: { readonly name: string }) => one.name === agent
    return {
      areGuarded: agents.length > 0 && agents.every(({ rules }) => asksBeforeActing(rules)),
      meant: agents.find(isMeant)?.rules ?? [],
    }
  }

  async function requireNoSubagent({ command, directory, agent }: Omit<GuardTarget, 'sessionID'>): Promise<void> {
    const [commands, agents] = await Promise.all([rest.commands(directory), rest.agents(directory)])
    const starts = toReadCommandStarts(commands)
    const start = starts?.find((one) => one.name === command)
    // The server answers an unknown command itself, with an error.
    if (starts && !start) return
    const answering = start?.agent ?? agent
    const isByPrimary =
      answering === undefined || toReadAgentRules(agents).some((one) => one.name === answering && isPrimary(one))
    if (start && (start.subtask === false || (start.subtask !== true && isByPrimary))) return
    throw unguarded(
      `A sub-agent that the command /${command} starts`,
      `Only people who may approve can run it, unless the config of ${name} asks in all sessions: ${configLines}`,
    )
  }
}

/** The list begins with the server's default agent. */
function isPrimary({ mode }: { readonly mode: string }): boolean {
  return mode !== 'subagent'
}
