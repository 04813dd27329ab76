import { askDetails, askTitle, escapeInvisible, type PermissionAsk } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeDeceptive } from '../../src/text/escape-deceptive.ts'
import { permission, root } from '../make.ts'

function askOf(tool: string, input: Record<string, unknown>, more: Partial<PermissionAsk> = {}): PermissionAsk {
  const { ask } = permission('p1', root, {
    permission: tool,
    title: tool,
    patterns: [],
    call: { tool, input },
    ...more,
  })
  return ask.type === 'permission' ? ask : expect.fail('It is a permission.')
}

const detailsOf = (...given: Parameters<typeof askOf>) => askDetails(askOf(...given)) ?? expect.fail('They are known.')

/** The title, then each detail below its label. */
const cardOf = (...given: Parameters<typeof askOf>): readonly string[] => {
  const ask = askOf(...given)
  const details = askDetails(ask) ?? expect.fail('They are known.')
  return [askTitle(ask), ...details.map(({ label, text }) => (label === '' ? text : `${label}: ${text}`))]
}

describe('the title of a permission', () => {
  const directory = '/project'

  test.each([
    ['a command', 'bash', { command: 'ls' }, 'bash'],
    ['a command elsewhere', 'bash', { command: 'ls', workdir: '/project/src' }, 'bash in src'],
    ['a command outside', 'shell', { command: 'ls', workdir: '/usr' }, 'shell in /usr'],
    ['a command in the project itself', 'bash', { command: 'ls', cwd: '/project/' }, 'bash'],
    ['a command in what a link may lead to', 'bash', { command: 'ls', cwd: '/project/a/..' }, 'bash in /project/a/..'],
    ['a file of the project', 'read', { filePath: '/project/a/b.ts' }, 'read: a/b.ts'],
    ['a file outside', 'read', { path: '/etc/passwd' }, 'read: /etc/passwd'],
    ['a path that leaves the project', 'read', { path: '/project/../b' }, 'read: /project/../b'],
    ['a folder with a longer name', 'read', { path: '/projects/b' }, 'read: /projects/b'],
    ['a hidden character', 'read', { path: 'a\u202eb' }, 'read: a\\u202eb'],
    ['any other tool', 'issues_create', { path: '/project/a' }, 'issues_create'],
  ])('of %s', (_, tool, input, title) => {
    expect(askTitle(askOf(tool, input, { directory }))).toBe(title)
  })

  test('names no place that is too long for it, or that a line would change: a detail does', () => {
    for (const path of ['a/'.repeat(70), 'a  b', 'a\nb', ' a']) {
      expect(cardOf('read', { filePath: path })).toEqual(['read', `File: ${path}`])
    }
  })

  test('names the other permission of a tool', () => {
    const outside = { permission: 'external_directory', patterns: ['/usr/*'], directory }
    expect(cardOf('bash', { command: 'ls', workdir: '/usr' }, outside)).toEqual([
      'bash outside the project: /usr/*',
      'Directory: /usr',
      'ls',
    ])
    expect(askTitle(askOf('bash', {}, { permission: 'doom_loop' }))).toBe('the same bash again')
    expect(askTitle(askOf('write', {}, { permission: 'edit' }))).toBe('write')
    expect(askTitle(askOf('run', {}, { permission: 'x' }))).toBe('run (x)')
  })

  test("has an agent's own words that are nowhere else", () => {
    const title = 'May I make a file?'
    expect(cardOf('bash', { command: 'touch a' }, { title })).toEqual([`bash: ${title}`, 'touch a'])
    expect(cardOf('edit', { path: 'a', newString: 'b' }, { title })).toEqual(['edit: a', `Title: ${title}`, '+b'])
    expect(cardOf('bash', { command: 'touch a' }, { title: 'touch a' })).toEqual(['bash', 'touch a'])
    expect(cardOf('edit', { path: '/project/a', newString: 'b' }, { title: '/project/a', directory })).toEqual([
      'edit: a',
      '+b',
    ])
  })

  test('has the patterns while the input is unknown', () => {
    const unknown = { call: undefined, patterns: ['npm test', 'git status'] }
    expect(askTitle(askOf('bash', {}, unknown))).toBe('bash: npm test, git status')
  })

  test('is one line of at most 120 units, whatever the tool is called', () => {
    expect(cardOf('x'.repeat(200), {})).toEqual([`${'x'.repeat(119)}…`, `Tool: ${'x'.repeat(200)}`])
  })
})

describe('the details of a permission', () => {
  test('are not known before its call is', () => {
    const { ask } = permission('p1')
    expect(ask.type === 'permission' && askDetails(ask)).toBeUndefined()
  })

  test.each(['bash', 'shell'])(
    'of a command are the command itself, verbatim and with its line breaks, and where it runs: %s',
    (tool) => {
      const command = "[[ -v 'a[$(touch X)]' ]]; ls # harmless\nexport A=1 > file"
      const details = detailsOf(
        tool,
        { command, workdir: '/srv', timeout: 5, description: 'List' },
        { patterns: ['ls'] },
      )
      expect(details).toEqual([
        { label: '', format: 'code', language: 'bash', text: command },
        { label: 'Also', format: 'text', text: 'Timeout: 5\nDescription: List' },
      ])
    },
  )

  test('contain what the metadata adds, and only that', () => {
    const details = detailsOf('bash', { command: 'ls' }, { metadata: { command: 'ls', risk: 'none', files: [] } })
    expect(details.map(({ label, text }) => [label, text])).toEqual([
      ['', 'ls'],
      ['Also', 'Risk: none'],
    ])
    const changed = detailsOf('bash', { command: 'ls' }, { metadata: { command: 'rm -r .' } })
    expect(changed.map(({ text }) => text)).toEqual(['ls', 'Command: rm -r .'])
  })

  test('keep the names of fields that would read the same', () => {
    expect(cardOf('any', { oneTwo: 1, one_two: 2 })).toEqual(['any', 'oneTwo: 1\none_two: 2'])
    expect(cardOf('any', { one: 1 }, { metadata: { one: 2 } })).toEqual(['any', 'one: 1\none: 2'])
  })

  test('begin with the patterns that no other text contains', () => {
    const outside = detailsOf('bash', { command: 'ls /usr/bin' }, { patterns: ['cat *', 'ls', '*'] })
    expect(outside.map(({ label, text }) => [label, text])).toEqual([
      ['Patterns', 'cat *'],
      ['', 'ls /usr/bin'],
    ])
  })

  test('of a fetch are the address and every other field', () => {
    const details = detailsOf('webfetch', { url: 'https://example.org/?a=1', format: 'text', timeout: 5 })
    expect(details.map(({ label, text }) => [label, text])).toEqual([
      ['', 'https://example.org/?a=1'],
      ['Also', 'Format: text\nTimeout: 5'],
    ])
  })

  test('of the end of planning are the whole plan and every other field', () => {
    const details = detailsOf('ExitPlanMode', { planFilePath: '/plans/a.md', plan: 'Make it.' })
    expect(details.map(({ label, text }) => [label, text])).toEqual([
      ['Plan', 'Make it.'],
      ['Also', 'Plan file path: /plans/a.md'],
    ])
  })

  test('of any other tool are its fields, with every string as it is, and long ones last', () => {
    const input = {
      body: 'It fails.\nSee the log.',
      query: 'say "hi" \\ bye',
      options: { tags: ['a "b"', 'two\nlines'], deep: { on: true, off: 'true' } },
    }
    const outline = [
      'Query: say "hi" \\ bye',
      ...['Options:', '  tags:', '    - a "b"', '    - |', '      two', '      lines'],
      ...['  deep:', '    on: true', '    off: "true"'],
    ]
    expect(cardOf('db_query', input)).toEqual(['db_query', outline.join('\n'), 'Body: It fails.\nSee the log.'])
  })

  test('of a call without input are none: the title says all', () => {
    expect(cardOf('todoread', {})).toEqual(['todoread'])
  })

  test('are unknown if values are nested too deeply', () => {
    let deep: unknown = 'x'
    for (let depth = 0; depth < 300; depth++) deep = [deep]
    expect(askDetails(askOf('any', { deep }))).toBeUndefined()
    expect(askDetails(askOf('any', {}, { metadata: { deep } }))).toBeUndefined()
  })
})

describe('the details of an edit', () => {
  const head = 'Index: /project/list.txt\n===\n--- /project/list.txt\n+++ /project/list.txt\n'
  const input = { filePath: '/project/list.txt', oldString: 'b', newString: 'B' }

  test("are the server's diff if it has all of the input", () => {
    const diff = `${head}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n`
    const details = detailsOf('edit', input, { metadata: { filepath: '/project/list.txt', diff } })
    expect(details.map(({ label, format }) => [label, format])).toEqual([['', 'diff']])
    expect(details[0]?.text).toBe('@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n')
  })

  test("keep the names in the server's diff if one is another file's, or it has more above it", () => {
    for (const above of [head.replace('+++ /project/list', '+++ /project/other'), `rename from x\n${head}`]) {
      const diff = `${above}@@ -1 +1 @@\n-b\n+B\n`
      expect(detailsOf('edit', input, { metadata: { diff } })[0]?.text).toBe(diff)
    }
  })

  test('name the file also if the tool calls it a path', () => {
    const { filePath: path, ...rest } = input
    expect(detailsOf('edit', { path, ...rest })).toEqual(detailsOf('edit', input))
  })

  test("are made from the input if the server's diff is absent or incomplete", () => {
    const more = { ...input, oldString: 'a\nb\nc', newString: 'a\nB\n  evil()\nc', replaceAll: true }
    const own = ' a\n-b\n+B\n+  evil()\n c'
    const diff = `${head}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n`
    for (const metadata of [{}, { diff }]) {
      const details = detailsOf('edit', more, { metadata })
      expect(details.map(({ label, text }) => [label, text])).toEqual([
        ['', own],
        ['Also', 'Replace all: true'],
      ])
    }
  })

  test("have both if the server's diff has more: the places of replaceAll", () => {
    const diff = `${head}@@ -1,2 +1,2 @@\n-x = b;\n-y = b;\n+x = B;\n+y = B;\n`
    const indented = { ...input, oldString: '  b', newString: '  B' }
    const details = detailsOf('edit', { ...indented, replaceAll: true }, { metadata: { diff } })
    expect(details.map(({ label }) => label)).toEqual(['', "The server's diff", 'Also'])
  })

  test('contain other diffs and texts of the metadata', () => {
    const edit = { ...input, oldString: 'a', newString: 'b' }
    const hunk = '@@ -1 +1 @@\n-a\n+b'
    const told = detailsOf('edit', edit, { metadata: { diff: hunk, note: hunk } })
    expect(told.map(({ label }) => label)).toEqual([''])
    for (const metadata of [{ diff: hunk, note: `${hunk}\nthen rm -r .` }, { diff: `${hunk}\nthen rm -r .` }]) {
      const texts = detailsOf('edit', edit, { metadata }).map(({ text }) => text)
      expect(texts.join('\n')).toContain('then rm -r .')
    }
  })

  test('of a written file are its lines, and the lines that it loses', () => {
    const diff = `${head}@@ -1,2 +1,1 @@\n keep\n-lost\n`
    const written = detailsOf('write', { filePath: 'a', content: 'keep\nmany\n' }, { metadata: { diff } })
    expect(written.map(({ text }) => text)).toEqual(['+keep\n+many', diff])
    expect(detailsOf('write', { filePath: 'a', content: '' }).map(({ text }) => text)).toEqual(['@@ empty @@'])
  })

  test('of several edits list each, its place, and whether it replaces all', () => {
    const edits = [
      { oldString: 'a', newString: 'b', replaceAll: true },
      { filePath: 'other', oldString: 'c', newString: '' },
    ]
    const details = detailsOf('multiedit', { filePath: 'a', edits })
    expect(details[0]?.text).toBe('@@ edit 1, every occurrence @@\n-a\n+b\n@@ edit 2 of other @@\n-c')
    expect(detailsOf('multiedit', { filePath: 'a', edits: [{ ...edits[0], mode: 'x' }] }).at(-1)?.label).toBe('Also')
  })

  test.each([
    ['another file', { filePath: '/etc/passwd' }, '@@ edit 1 of /etc/passwd @@'],
    ['every occurrence', { replaceAll: true }, '@@ edit 1, every occurrence @@'],
  ])("of several edits name what the server's diff does not: %s", (_, more, named) => {
    const edits = [{ oldString: 'b', newString: 'B', ...more }]
    const details = detailsOf('multiedit', { filePath: 'a.txt', edits }, { metadata: { diff: '@@ -1 +1 @@\n-b\n+B' } })
    expect(details.map(({ text }) => text)).toEqual([`${named}\n-b\n+B`])
  })

  test('of a patch are the patch; whole files before and after are not repeated', () => {
    const patchText = '*** Begin Patch\n*** Update File: a\n@@\n-b\n+B\n*** End Patch'
    const file = {
      filePath: '/project/a',
      type: 'update',
      before: 'a\nb\nc',
      after: 'a\nB\nc',
      diff: `${head}@@ -1 +1 @@\n-b\n+B`,
    }
    const details = detailsOf('apply_patch', { patchText }, { metadata: { diff: file.diff, files: [file] } })
    expect(details.map(({ label, text }) => [label, text])).toEqual([
      ['', patchText],
      ['Also', 'Files:\n  -\n    filePath: /project/a\n    type: update'],
    ])
  })
})

describe('everything that will run is in the details', () => {
  const word = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', ' ', 'a\nb', '\n', '"', '\\', '\u202e', '```', '- x', '+a', '--- a', 'key: v', '\r\n'),
  )
  const text = fc.array(word, { maxLength: 4 }).map((words) => words.join('\n'))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('fields'),
    ),
    list: fc.array(tie('value'), { maxLength: 3 }),
    fields: fc.dictionary(word, tie('value'), { maxKeys: 3 }),
  }))
  const fields = fc.dictionary(word, value, { maxKeys: 4 })
  const edit = fc.record({ filePath: text, oldString: text, newString: text, content: text }, { requiredKeys: [] })
  const input = fc.oneof(
    fields,
    edit,
    fc.record({ command: text, workdir: text, description: text }, { requiredKeys: [] }),
    fc.record({ filePath: text, edits: fc.array(edit, { maxLength: 3 }) }),
    fc.record({ patchText: text }),
    fc.tuple(fields, edit).map(([a, b]) => ({ ...a, ...b })),
  )
  const tool = fc.constantFrom('bash', 'edit', 'multiedit', 'write', 'apply_patch', 'webfetch', 'mcp_tool', 'task')

  function stringsIn(value: unknown): readonly string[] {
    if (typeof value === 'string') return [value]
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
  }

  test('for every tool, input and metadata: each line of each string is on one of their lines', () => {
    fc.assert(
      fc.property(tool, input, fields, (name, given, metadata) => {
        const ask = askOf(name, given, { metadata })
        const texts = [askTitle(ask), ...(askDetails(ask) ?? []).map((detail) => detail.text)]
        expect(texts.every((one) => one !== '' && escapeInvisible(one) === one)).toBe(true)
        const lines = texts.flatMap((one) => one.split('\n'))
        for (const string of [...stringsIn(given), ...stringsIn(metadata)]) {
          for (const line of escapeDeceptive(string).split('\n')) {
            expect(
              lines.some((other) => other.includes(line)),
              JSON.stringify({ line, texts }),
            ).toBe(true)
          }
        }
      }),
      { numRuns: 1000 },
    )
  })

  test("for edits with the server's diff, right or wrong: what the input has is there", () => {
    const diff = fc.tuple(text, text).map(([removed, added]) => {
      const signed = (sign: string, one: string) => one.split('\n').map((line) => `${sign}${line}`)
      return ['--- a', '+++ a', '@@ -1 +1 @@', ...signed('-', removed), ...signed('+', added)].join('\n')
    })
    const own = fc.tuple(text, text, text).map(([oldString, newString, same]) => {
      const signed = (sign: string, one: string) => one.split('\n').map((line) => `${sign}${line}`)
      const lines = [
        '--- a',
        '+++ a',
        '@@ -1 +1 @@',
        ...signed(' ', same),
        ...signed('-', oldString),
        ...signed('+', newString),
      ]
      return { given: { filePath: 'a', oldString, newString }, diff: lines.join('\n') }
    })
    const flag = fc.constantFrom({}, { replaceAll: true }, { replaceAll: false })
    const several = fc.tuple(own, edit, flag).map(([{ given, diff: one }, more, replaces]) => {
      const { filePath = 'a', oldString, newString } = { ...more, ...given, filePath: more.filePath }
      return { given: { filePath: 'a', edits: [{ filePath, oldString, newString, ...replaces }] }, diff: one }
    })
    const pair = fc.oneof(
      own,
      several,
      fc.tuple(edit, diff).map(([given, one]) => ({ given, diff: one })),
    )
    fc.assert(
      fc.property(fc.constantFrom('edit', 'multiedit', 'write'), pair, (name, { given, diff: one }) => {
        const ask = askOf(name, given, { metadata: { diff: one } })
        const lines = [askTitle(ask), ...(askDetails(ask) ?? []).flatMap((detail) => detail.text.split('\n'))]
        for (const string of stringsIn(given)) {
          for (const line of escapeDeceptive(string).split('\n'))
            expect(lines.some((other) => other.includes(line))).toBe(true)
        }
        const isForAll = JSON.stringify(given).includes('"replaceAll":true')
        if (isForAll) expect(lines.join('\n')).toMatch(/every occurrence|Replace all: true/)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('visible', () => {
  test.each([
    ['a direction', 'a\u202eb', 'a\\u202eb'],
    ['a zero-width space and joiner', 'rm\u200b\u200d', 'rm\\u200b\\u200d'],
    ['an escape sequence', '\u001b[31m', '\\u001b[31m'],
    ['a carriage return, that would write over the line', 'rm x\rls', 'rm x\\u000dls'],
    ['a tag beyond U+FFFF', '\u{e0041}', '\\u{e0041}'],
    ['half of a pair', '\ud800', '\\ud800'],
    ['a filler that looks like a space', '\u3164', '\\u3164'],
    ['a line separator', '\u2028', '\\u2028'],
  ])('writes out %s', (_, hidden, shown) => {
    expect(escapeInvisible(hidden)).toBe(shown)
  })

  test('leaves line feeds, tabs, letters of all scripts and emoji', () => {
    const plain = 'a\n\tb ä 漢字 עברית 👍🏽 ❤️'
    expect(escapeInvisible(plain)).toBe(plain)
  })

  test('does nothing to what it has written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => {
        expect(escapeInvisible(escapeInvisible(any))).toBe(escapeInvisible(any))
        expect(escapeInvisible(any).replace(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
      }),
    )
  })
})
