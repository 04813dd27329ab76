import { ReplyError } from '../error.ts'

/** A permission rule of an OpenCode server: the last one that matches a tool and its input decides. */
export interface PermissionRule {
  /** The tool's permission, such as `bash`; `*` stands for any characters, `?` for one. */
  readonly permission: string
  /** What it is used on, such as `git status *`; `*` alone matches everything. */
  readonly pattern: string
  readonly action: 'allow' | 'ask' | 'deny'
}

/**
 * Permissions that change nothing, run nothing and send nothing out: they read the project, or talk to the person. All
 * others ask, also those of tools that are not known here, such as MCP tools.
 */
const harmless = [
  'read',
  'glob',
  'grep',
  'list',
  'todowrite',
  'todoread',
  'question',
  'skill',
  'plan_enter',
  'plan_exit',
] as const

/** OpenCode's own rules for files that are likely to have secrets, which a config that allows everything takes away. */
const secretFiles: readonly PermissionRule[] = [
  { permission: 'read', pattern: '*.env', action: 'ask' },
  { permission: 'read', pattern: '*.env.*', action: 'ask' },
  { permission: 'read', pattern: '*.env.example', action: 'allow' },
]

/** The permissions by which OpenCode 1 and 2 act, and the name of a tool that neither has. */
const acting = [
  'bash',
  'shell',
  'edit',
  'write',
  'patch',
  'webfetch',
  'websearch',
  'codesearch',
  'external_directory',
  'lsp',
  'a_tool_of_an_mcp_server',
] as const

/** The server's own folders, such as that of long outputs and those of skills. What is done there is asked. */
const ofOpenCode = /[/\\]\.?opencode[/\\]/

/**
 * Whether an agent with these rules asks before it acts on anything that its config doesn't name. Narrower patterns that
 * are allowed, such as `git status *`, are the choice of the person who wrote the config.
 */
export function asksBeforeActing(rules: readonly PermissionRule[]): boolean {
  return acting.every((name) => {
    const last = rules.findLast((rule) => {
      const isForAll = rule.action === 'allow' ? isWide(rule.pattern) : rule.pattern === '*'
      return isForAll && matches(rule.permission, name)
    })
    return last !== undefined && last.action !== 'allow'
  })
}

/** Whether an agent with these rules is not given a tool at all. OpenCode goes by the last rule for it, whatever its pattern. */
export function isTakenAway(tool: string, rules: readonly PermissionRule[]): boolean {
  const last = rules.findLast(({ permission }) => matches(permission, tool))
  return last?.pattern === '*' && last.action === 'deny'
}

/**
 * The rules of a session in which an agent asks before it acts: what the agent may do by itself is asked, what it asks
 * or is denied stays so. A sub-agent's session doesn't take over rules that ask, so starting one is asked.
 */
export function guardRules(agent: readonly PermissionRule[]): readonly PermissionRule[] {
  return [
    { permission: '*', pattern: '*', action: 'ask' },
    ...agent.flatMap((rule): readonly PermissionRule[] => {
      if (rule.action !== 'allow' || isHarmless(rule.permission)) return [rule]
      if (rule.permission === 'external_directory' && ofOpenCode.test(rule.pattern)) return [rule]
      const allowed = harmless.filter((name) => matches(rule.permission, name))
      return [
        { permission: rule.permission, pattern: rule.pattern, action: 'ask' },
        ...allowed.map((permission) => ({ permission, pattern: rule.pattern, action: 'allow' as const })),
        ...(allowed.includes('read') ? secretFiles : []),
      ]
    }),
  ]
}

/** Whether `rules` end with `last`: what comes before them no longer counts. */
export function endWith(rules: readonly PermissionRule[], last: readonly PermissionRule[]): boolean {
  const tail = rules.slice(rules.length - last.length)
  return tail.length === last.length && last.every((rule, at) => isEqual(rule, tail[at]))
}

/** The error for a server that can't be told to ask. `cure`: what its operator can do. */
export function unguarded(name: string, cure: string): ReplyError {
  return new ReplyError('unguarded', `${name} would run commands and edit files without asking. ${cure}`)
}

function isEqual(one: PermissionRule, other: PermissionRule | undefined): boolean {
  return one.permission === other?.permission && one.pattern === other.pattern && one.action === other.action
}

function isHarmless(permission: string): boolean {
  return harmless.some((name) => name === permission)
}

/** Nothing but wildcards, and what stands for the root or the home: `*`, `/** Nothing but wildcards, and what stands for the root, the home or a folder: `*`, `/**`, `~/*`. */
function isWide(pattern: string): boolean {
  return /^[*?/~.]+$/.test(pattern)
}

function matches(permission: string, name: string): boolean {
  const source = permission
    .split('*')
    .map((text) => text.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('?', '.'))
    .join('.*')
  return new RegExp(`^${source}$`, 's').test(name)
}
