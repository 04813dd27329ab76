import fc from 'fast-check'
import { expect, test } from 'vitest'
import { alwaysOffer } from '../../src/ask/always.ts'
import type { PermissionAsk } from '../../src/index.ts'
import { permission, root } from '../make.ts'

function offer(always: readonly string[], more: Partial<PermissionAsk> = {}): string {
  const { ask } = permission('p1', root, { permission: 'bash', patterns: always, always, ...more })
  return ask.type === 'permission' ? alwaysOffer(ask).type : 'no permission'
}

test.each([
  ...['sh *', 'bash -c *', 'bash -c "ls"', '/bin/sh *', '/usr/bin/env *', 'zsh', 'fish -c *', 'busybox *', 'pwsh *'],
  ...[
    'python -c *',
    'python3 *',
    'python3.12 manage.py *',
    'node -e *',
    'deno *',
    'bun *',
    'ruby *',
    'perl *',
    'php *',
  ],
  ...['lua5.4 *', 'xargs *', 'env *', 'sudo *', 'sudo ls *', 'doas *', 'su *', 'ssh host *', 'eval *', 'exec *', '. x'],
  ...['source *', 'find *', 'awk *', 'sed *', 'make *', 'npm *', 'npm run *', 'npx *', 'pnpm *', 'yarn *', 'docker *'],
  // With an option that names a program.
  ...['rg *', 'sort *', 'split *', 'wget *', 'ip *'],
  ...['tmux *', 'nohup *', 'timeout 5 *', 'nice *', 'watch *', 'parallel *', 'cargo *', 'go *', 'pytest *', 'tar *'],
  ...['git *', 'git', 'git -c *', 'git push *', 'git config *', 'git rebase *', 'git bisect run *', 'git submodule *'],
  ...['git commit *', 'git checkout *', 'git merge *'],
  // However the name is written.
  ...['"bash" *', "b'as'h *", 'b\\ash *', 'FOO=1 sh *', 'A=1 B="2" /bin/bash *', 'BASH *', 'bash.exe *', ' sh *'],
  ...['$SHELL *', '`which sh` *', 'b* x', 'ba?h *', 'b\u0430sh *', 'sh; ls', '(sh) *'],
  // A whole line, as OpenCode 2 covers it.
  ...['git status && bash x', 'ls | xargs rm', 'ls; sh x', 'echo $(node -e 1)', 'cat <(python x)', 'ls\nsh x'],
  // Files that the agent may have written.
  ...['./run.sh *', 'scripts/build *', '/home/ann/x *', '../x', '~/bin/x *'],
  ...['Bash(npm test:*)', 'bash:*'],
])('of %s, "always" would cover anything', (pattern) => {
  expect(offer([pattern])).toBe('runs-anything')
  expect(offer(['ls *', pattern])).toBe('runs-anything')
})

test.each(['*', '**', ' * ', '/*', '~/*', '?', '', '/', './*'])(
  'the pattern "%s" has no limit, of any tool',
  (pattern) => {
    for (const permission of ['bash', 'edit', 'webfetch', 'external_directory', 'some_mcp_tool'])
      expect(offer([pattern], { permission, call: { tool: permission, input: {} } })).toBe('everything')
  },
)

test.each([
  ...['ls *', 'touch *', 'mkdir -p *', 'git status *', 'git log *', 'git diff *', 'cat *', 'grep *', 'curl *'],
  ...[
    '/bin/ls *',
    '/usr/bin/touch *',
    'LC_ALL=C ls *',
    'echo "sh" *',
    'Bash(git status:*)',
    '[[ -f a ]]',
    'git status && touch b',
  ],
])('of %s, it may be offered', (pattern) => {
  expect(offer([pattern])).toBe('offered')
})

test('other tools are judged by their patterns’ limits alone', () => {
  expect(offer(['/home/ann/sh/*'], { permission: 'external_directory', call: { tool: 'read', input: {} } })).toBe(
    'offered',
  )
  expect(offer(['sh'], { permission: 'skill', call: { tool: 'skill', input: {} } })).toBe('offered')
  expect(offer([])).toBe('none')
})

test('of an agent that names an option instead of patterns, the command counts', () => {
  const told = (command: string): string =>
    offer(["Yes, and don't ask again for commands that start with `touch`"], {
      patterns: [],
      permission: 'execute',
      call: { tool: 'execute', input: { command } },
    })
  expect(told('ls -l')).toBe('offered')
  for (const command of ['bash x', 'ls && sh x', 'ls | xargs rm', 'echo $(node -e 1)', 'ls\npython x'])
    expect(told(command)).toBe('runs-anything')
})

test('a shell behind assignments, quotes and folders is found', () => {
  const name = fc.constantFrom('sh', 'bash', 'python3', 'xargs', 'sudo')
  const before = fc.constantFrom('', 'A=1 ', 'A="b" C=d ', '  ')
  const folder = fc.constantFrom('', '/bin/', '/usr/bin/', '/usr/local/bin/', './', '/tmp/')
  const quoted = fc.constantFrom(
    (word: string) => word,
    (word: string) => `"${word}"`,
    (word: string) => `${word[0]}''${word.slice(1)}`,
  )
  fc.assert(
    fc.property(before, folder, name, quoted, (assignments, at, program, quote) => {
      expect(offer([`${assignments}${quote(`${at}${program}`)} *`])).toBe('runs-anything')
    }),
  )
})
