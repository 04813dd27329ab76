import { ReplyError } from '../error.ts'

/** A permission rule of an OpenCode server. The last rule that matches a tool and its input decides. */
export interface PermissionRule {
  /** The tool's permission, for example `bash`. `*` matches any characters, `?` matches one. */
  readonly permission: string
  /** The input that it applies to, for example `git status *`. A single `*` matches everything. */
  readonly pattern: string
  readonly action: 'allow' | 'ask' | 'deny'
}

/**
 * Permissions that change nothing, run nothing and send nothing out: they read the project, or talk to the person. All
 * others ask, including those of unknown tools such as MCP tools.
 */
const harmlessPermissions = [
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

/** OpenCode's default rules for files that likely contain secrets. A config that allows everything overrides them. */
const secretFiles: readonly PermissionRule[] = [
  { permission: 'read', pattern: '*.env', action: 'ask' },
  { permission: 'read', pattern: '*.env.*', action: 'ask' },
  { permission: 'read', pattern: '*.env.example', action: 'allow' },
]

/** The permissions that let OpenCode 1 and 2 act, and the name of a tool that neither has. */
const actingPermissions = [
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

/**
 * The server's own folders, for example for long outputs and for skills. They stay allowed as external directories,
 * because each action there is asked itself.
 */
const openCodeFolder = /[/\\]\.?opencode[/\\]/

/**
 * Whether these rules make an agent ask for each kind of action or deny it, except on inputs that its config names, so
 * that people who may not approve can prompt it. Narrow
 * patterns that are allowed, such as `git status *`, are the config author's choice. False without rules.
 */
export function asksBeforeActing(rules: readonly PermissionRule[]): boolean {
  return actingPermissions.every((name) => {
    const decidingRule = rules.findLast((rule) => {
      const isForAll = rule.action === 'allow' ? isWidePattern(rule.pattern) : rule.pattern === '*'
      return isForAll && matchesPermission(rule.permission, name)
    })
    return decidingRule !== undefined && decidingRule.action !== 'allow'
  })
}

/**
 * Whether these rules deny a tool for every input. OpenCode goes by the tool's last rule, whatever its pattern. False
 * without a rule for it.
 */
export function isDenied(tool: string, rules: readonly PermissionRule[]): boolean {
  const last = rules.findLast(({ permission }) => matchesPermission(permission, tool))
  return last?.pattern === '*' && last.action === 'deny'
}

/**
 * Returns the rules that make an agent ask before it acts: first "ask" for everything, then the agent's rules with
 * "ask" instead of "allow". Denied, asked and harmless permissions stay as they are, and so do the server's own
 * folders. If a rule allows harmless permissions with a wildcard, they stay allowed, and reading files that likely
 * contain secrets is asked. A sub-agent's session doesn't inherit rules that ask, so starting one is asked.
 */
export function toGuardRules(agentRules: readonly PermissionRule[]): readonly PermissionRule[] {
  return [
    { permission: '*', pattern: '*', action: 'ask' },
    ...agentRules.flatMap((rule): readonly PermissionRule[] => {
      if (rule.action !== 'allow' || isHarmless(rule.permission)) return [rule]
      if (rule.permission === 'external_directory' && openCodeFolder.test(rule.pattern)) return [rule]
      const allowed = harmlessPermissions.filter((name) => matchesPermission(rule.permission, name))
      return [
        { permission: rule.permission, pattern: rule.pattern, action: 'ask' },
        ...allowed.map((permission) => ({ permission, pattern: rule.pattern, action: 'allow' as const })),
        ...(allowed.includes('read') ? secretFiles : []),
      ]
    }),
  ]
}

/** Whether `rules` end with `last`, so that the rules before no longer count. True if `last` is empty. */
export function endsWithRules(rules: readonly PermissionRule[], last: readonly PermissionRule[]): boolean {
  const tail = rules.slice(rules.length - last.length)
  return tail.length === last.length && last.every((rule, at) => isSameRule(rule, tail[at]))
}

/** Returns the error for a server that can't be made to ask. `cure` is the operator's fix. */
export function unguardedError(name: string, cure: string): ReplyError {
  return new ReplyError('unguarded', `${name} would run commands and edit files without asking. ${cure}`)
}

/** Whether both rules are equal. False without the other one. */
function isSameRule(rule: PermissionRule, other: PermissionRule | undefined): boolean {
  return rule.permission === other?.permission && rule.pattern === other.pattern && rule.action === other.action
}

/** Whether a permission is one of `harmlessPermissions`. False for a wildcard. */
function isHarmless(permission: string): boolean {
  return harmlessPermissions.some((name) => name === permission)
}

/** Whether a pattern only has wildcards and characters of the root, the home or a folder: `*`, `**`, `~/*`. */
function isWidePattern(pattern: string): boolean {
  return /^[*?/~.]+$/.test(pattern)
}

/** Whether a rule's permission, which may have the wildcards `*` and `?`, matches this name as a whole. */
function matchesPermission(permission: string, name: string): boolean {
  const source = permission
    .split('*')
    .map((text) => text.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('?', '.'))
    .join('.*')
  return new RegExp(`^${source}$`, 's').test(name)
}
