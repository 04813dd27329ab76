import { asksBeforeActing, unguardedError } from '../guard-rules.ts'
import type { Guarded, GuardTarget } from '../port.ts'
import { toReadAgentRules } from './decode/choices.ts'
import { listIn } from './decode/rest-responses.ts'
import type { Rest } from './rest.ts'

/** The config that makes OpenCode 2 ask in all sessions, including those of sub-agents. */
export const configLines =
  '"permissions": [{ "action": "*", "resource": "*", "effect": "ask" }, { "action": "read", "resource": "*", "effect": "allow" }, { "action": "read", "resource": "*.env", "effect": "ask" }, { "action": "read", "resource": "*.env.*", "effect": "ask" }, { "action": "glob", "resource": "*", "effect": "allow" }, { "action": "grep", "resource": "*", "effect": "allow" }, { "action": "question", "resource": "*", "effect": "allow" }, { "action": "skill", "resource": "*", "effect": "allow" }]'

/**
 * Resolves with `always` if all agents of a directory ask by their own rules, including sub-agents. Rejects with
 * `unguarded` otherwise. Preview builds take no rules for a session. 2.0 documents a field for them, which could not be
 * tested yet.
 */
export async function requireGuard(rest: Rest, name: string, { directory }: GuardTarget): Promise<Guarded> {
  const agents = toReadAgentRules(listIn(await rest.get('/agent', { query: { 'location[directory]': directory } })))
  const unguardedNames = agents.filter(({ rules }) => !asksBeforeActing(rules)).map((agent) => agent.name)
  if (agents.length > 0 && unguardedNames.length === 0) return 'always'
  const who = unguardedNames.length === 0 ? 'An agent' : `The agent ${unguardedNames[0]}`
  throw unguardedError(`${who} of ${name}`, `Add to the config of OpenCode: ${configLines}`)
}
