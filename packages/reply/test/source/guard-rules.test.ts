import { expect, test } from 'vitest'
import { asksBeforeActing, isDenied, type PermissionRule, toGuardRules } from '../../src/source/guard-rules.ts'

const rule = (permission: string, pattern: string, action: PermissionRule['action']): PermissionRule => ({
  permission,
  pattern,
  action,
})
const asking = rule('*', '*', 'ask')

test.each<[string, readonly PermissionRule[], boolean]>([
  ['none', [], false],
  ['all ask', [asking], true],
  ['all denied', [rule('*', '*', 'deny')], true],
  [
    'only the shell and edits ask',
    [rule('*', '*', 'allow'), rule('bash', '*', 'ask'), rule('edit', '*', 'ask')],
    false,
  ],
  ['an allow for one command', [asking, rule('bash', 'git status', 'allow')], true],
  ['an allow for all commands', [asking, rule('bash', '*', 'allow')], false],
  ['an allow for all, in other words', [asking, rule('external_directory', '/**', 'allow')], false],
  ['an allow for the home', [asking, rule('external_directory', '~/*', 'allow')], false],
  ['an ask for the home alone', [rule('*', '*', 'allow'), rule('*', '~/*', 'ask')], false],
  ['a name with a wildcard', [asking, rule('?ash', '*', 'allow')], false],
  ['a name with a star', [asking, rule('b*', '*', 'allow')], false],
  ['a later ask', [rule('bash', '*', 'allow'), asking], true],
])('whether an agent asks before it acts: %s', (_, rules, asks) => {
  expect(asksBeforeActing(rules)).toBe(asks)
  expect(asksBeforeActing(toGuardRules(rules))).toBe(true)
})

test('what is denied or asked stays so, and only reading stays allowed', () => {
  const kept = [rule('edit', '*', 'deny'), rule('bash', 'rm *', 'deny'), rule('read', 'docs/*', 'ask')]
  const own = rule('external_directory', '/home/ann/.local/share/opencode/tool-output/*', 'allow')
  const wide = rule('external_directory', '/srv/*', 'allow')
  const rules = toGuardRules([rule('*', '*', 'allow'), ...kept, own, wide, rule('glob', 'src/*', 'allow')])
  for (const one of [...kept, own, rule('glob', 'src/*', 'allow')]) expect(rules).toContainEqual(one)
  expect(rules).toContainEqual({ ...wide, action: 'ask' })
  const allowed = rules.filter(({ action }) => action === 'allow').map(({ permission }) => permission)
  expect(new Set(allowed)).toEqual(
    new Set([
      ...['read', 'glob', 'grep', 'list', 'todowrite', 'todoread', 'question', 'skill', 'plan_enter', 'plan_exit'],
      'external_directory',
    ]),
  )
})

test('a tool is taken away by the last rule for it alone', () => {
  const denied = rule('bash', '*', 'deny')
  expect(isDenied('bash', [asking, denied])).toBe(true)
  expect(isDenied('bash', [denied, asking])).toBe(false)
  expect(isDenied('bash', [denied, rule('bash', 'git *', 'ask')])).toBe(false)
})
