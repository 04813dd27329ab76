import { askDetails, legible, type PermissionAsk, visible } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { permission, root } from '../make.ts'

function askOf(tool: string, input: Record<string, unknown>, more: Partial<PermissionAsk> = {}): PermissionAsk {
  const { ask } = permission('p1', root, { permission: tool, patterns: [], call: { tool, input }, ...more })
  return ask.type === 'permission' ? ask : expect.fail('It is a permission.')
}

const detailsOf = (...given: Parameters<typeof askOf>) => askDetails(askOf(...given)) ?? expect.fail('They are known.')

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
        { label: 'Command', format: 'code', language: 'bash', text: command },
        { label: 'Directory', format: 'text', text: '/srv' },
        { label: 'timeout', format: 'text', text: '5' },
        { label: 'description', format: 'text', text: 'List' },
      ])
    },
  )

  test('contain what the metadata adds, and only that', () => {
    const details = detailsOf('bash', { command: 'ls' }, { metadata: { command: 'ls', risk: 'none', files: [] } })
    expect(details.map(({ label, text }) => [label, text])).toEqual([
      ['Command', 'ls'],
      ['risk', 'none'],
    ])
    const changed = detailsOf('bash', { command: 'ls' }, { metadata: { command: 'rm -r .' } })
    expect(changed.map(({ text }) => text)).toEqual(['ls', 'rm -r .'])
  })

  test('begin with the patterns that no other text contains', () => {
    const outside = detailsOf(
      'bash',
      { command: 'ls /usr/bin' },
      { permission: 'external_directory', patterns: ['/usr/*'] },
    )
    expect(outside.map(({ label }) => label)).toEqual(['Patterns', 'Command'])
  })

  test('of a fetch are the address and every other field', () => {
    const details = detailsOf('webfetch', { url: 'https://example.org/?a=1', format: 'text', timeout: 5 })
    expect(details.map(({ label, text }) => `${label}: ${text}`)).toEqual([
      'URL: https://example.org/?a=1',
      'format: text',
      'timeout: 5',
    ])
  })

  test('of any other tool are its fields, with every string as it is', () => {
    const input = {
      query: 'say "hi" \\ bye',
      options: { tags: ['a "b"', 'two\nlines'], deep: { on: true, off: 'true' } },
    }
    const details = detailsOf('db_query', input)
    expect(details.map(({ label }) => label)).toEqual(['query', 'options'])
    expect(details[1]?.text).toBe(
      ['tags:', '  - a "b"', '  - |', '    two', '    lines', 'deep:', '  on: true', '  off: "true"'].join('\n'),
    )
  })

  test('of a call without input name the tool', () => {
    expect(detailsOf('todoread', {})).toEqual([{ label: 'Tool', format: 'text', text: 'todoread' }])
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
    expect(details.map(({ label, format }) => [label, format])).toEqual([
      ['File', 'text'],
      ['Change', 'diff'],
    ])
    expect(details[1]?.text).toBe(diff)
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
        ['File', '/project/list.txt'],
        ['Change', own],
        ['replaceAll', 'true'],
      ])
    }
  })

  test("have both if the server's diff has more: the places of replaceAll", () => {
    const diff = `${head}@@ -1,2 +1,2 @@\n-x = b;\n-y = b;\n+x = B;\n+y = B;\n`
    const indented = { ...input, oldString: '  b', newString: '  B' }
    const details = detailsOf('edit', { ...indented, replaceAll: true }, { metadata: { diff } })
    expect(details.map(({ label }) => label)).toEqual(['File', 'Change', "The server's diff", 'replaceAll'])
  })

  test('contain other diffs and texts of the metadata', () => {
    const edit = { ...input, oldString: 'a', newString: 'b' }
    const hunk = '@@ -1 +1 @@\n-a\n+b'
    const told = detailsOf('edit', edit, { metadata: { diff: hunk, note: hunk } })
    expect(told.map(({ label }) => label)).toEqual(['File', 'Change'])
    for (const metadata of [{ diff: hunk, note: `${hunk}\nthen rm -r .` }, { diff: `${hunk}\nthen rm -r .` }]) {
      const texts = detailsOf('edit', edit, { metadata }).map(({ text }) => text)
      expect(texts.join('\n')).toContain('then rm -r .')
    }
  })

  test('of a written file are its lines, and the lines that it loses', () => {
    const diff = `${head}@@ -1,2 +1,1 @@\n keep\n-lost\n`
    const written = detailsOf('write', { filePath: 'a', content: 'keep\nmany\n' }, { metadata: { diff } })
    expect(written.map(({ text }) => text)).toEqual(['a', '+keep\n+many', diff])
    expect(detailsOf('write', { filePath: 'a', content: '' }).map(({ text }) => text)).toEqual(['a', '@@ empty @@'])
  })

  test('of several edits list each, its place, and whether it replaces all', () => {
    const edits = [
      { oldString: 'a', newString: 'b', replaceAll: true },
      { filePath: 'other', oldString: 'c', newString: '' },
    ]
    const details = detailsOf('multiedit', { filePath: 'a', edits })
    expect(details[1]?.text).toBe('@@ edit 1, every occurrence @@\n-a\n+b\n@@ edit 2 of other @@\n-c')
    expect(detailsOf('multiedit', { filePath: 'a', edits: [{ ...edits[0], mode: 'x' }] }).at(-1)?.label).toBe('edits')
  })

  test.each([
    ['another file', { filePath: '/etc/passwd' }, '@@ edit 1 of /etc/passwd @@'],
    ['every occurrence', { replaceAll: true }, '@@ edit 1, every occurrence @@'],
  ])("of several edits name what the server's diff does not: %s", (_, more, named) => {
    const edits = [{ oldString: 'b', newString: 'B', ...more }]
    const details = detailsOf('multiedit', { filePath: 'a.txt', edits }, { metadata: { diff: '@@ -1 +1 @@\n-b\n+B' } })
    expect(details.map(({ text }) => text)).toEqual(['a.txt', `${named}\n-b\n+B`])
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
      ['Change', patchText],
      ['files', '-\n  filePath: /project/a\n  type: update'],
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
        const texts = detailsOf(name, given, { metadata }).map((detail) => detail.text)
        expect(texts.every((one) => one !== '' && visible(one) === one)).toBe(true)
        const lines = texts.flatMap((one) => one.split('\n'))
        for (const string of [...stringsIn(given), ...stringsIn(metadata)]) {
          for (const line of legible(string).split('\n')) {
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
        const lines = detailsOf(name, given, { metadata: { diff: one } }).flatMap((detail) => detail.text.split('\n'))
        for (const string of stringsIn(given)) {
          for (const line of legible(string).split('\n')) expect(lines.some((other) => other.includes(line))).toBe(true)
        }
        const isForAll = JSON.stringify(given).includes('"replaceAll":true')
        if (isForAll) expect(lines.join('\n')).toMatch(/every occurrence|replaceAll: true/)
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
    expect(visible(hidden)).toBe(shown)
  })

  test('leaves line feeds, tabs, letters of all scripts and emoji', () => {
    const plain = 'a\n\tb ä 漢字 עברית 👍🏽 ❤️'
    expect(visible(plain)).toBe(plain)
  })

  test('does nothing to what it has written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => {
        expect(visible(visible(any))).toBe(visible(any))
        expect(visible(any).replace(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
      }),
    )
  })
})
