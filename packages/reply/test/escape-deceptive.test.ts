import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { askDetails, askTitle, type PermissionAsk } from '../src/index.ts'
import { escapeDeceptive } from '../src/text/escape-deceptive.ts'
import { permission, root } from './make.ts'

test.each([
  ['empty lines', `ls${'\n'.repeat(121)}rm x`, 'ls\n⟨120 empty lines⟩\nrm x'],
  ['lines of spaces', `ls\n${' \n\t\n'.repeat(60)}rm x`, 'ls\n⟨120 empty lines⟩\nrm x'],
  ['spaces', `ls${' '.repeat(1500)}; rm x`, 'ls⟨1500 spaces⟩; rm x'],
  ['tabs', `ls${'\t'.repeat(60)}; rm x`, 'ls⟨60 tabs⟩; rm x'],
  ['a braille blank', 'ls\u2800; rm x', 'ls\\u2800; rm x'],
  ['fillers', '\u3164\u115f\u1160\uffa0', '\\u3164\\u115f\\u1160\\uffa0'],
  ['a zero-width space', 'rm\u200b', 'rm\\u200b'],
  ['a direction', 'a\u202eb', 'a\\u202eb'],
  ['a tag', 'a\u{e0041}', 'a\\u{e0041}'],
  ['a variation selector', 'a\ufe00', 'a\\ufe00'],
  ['a private character', 'a\ue000', 'a\\ue000'],
  ['a stack of marks', `a${'\u0300\u0301'.repeat(4)}`, `a\u0300\u0301\u0300\u0301${'\\u0300\\u0301'.repeat(2)}`],
  ['a mark twice', 'e\u0301\u0301', 'e\u0301\\u0301'],
  ['a dot on an i', 'fi\u0307le', 'fi\\u0307le'],
  ['a mark on a sign', 'a |\u0338 b', 'a |\\u0338 b'],
  ['a Cyrillic letter in a Latin word', 'p\u0430ypal', 'p\\u0430ypal'],
  ['a Greek letter in a Latin word', 'n\u03bfde', 'n\\u03bfde'],
  ['a Latin letter in a Cyrillic word', '\u0441\u043ep', '\\u0441\\u043ep'],
  ['a Greek letter in a Cyrillic word', '\u0441\u03bf\u0440', '\u0441\\u03bf\u0440'],
  ['a Latin letter that looks like another', '\u0261it', '\\u0261it'],
])('%s can be seen', (_, hidden, shown) => {
  expect(escapeDeceptive(hidden)).toBe(shown)
})

test('every Unicode space but ASCII’s own is written out', () => {
  for (const space of '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u0085\u180e\ufeff')
    expect(escapeDeceptive(`a${space}b`)).toBe(`a\\u${space.charCodeAt(0).toString(16).padStart(4, '0')}b`)
})

test.each([
  ['Chinese', '提交 commit 并推送到 origin，然后运行测试'],
  ['Japanese', 'テストを実行してcommitする'],
  ['Korean', '커밋하고 push 하세요'],
  ['Thai', 'ใช้gitครับ'],
  ['Arabic', 'أضف الملفات ثم نفّذ git commit'],
  ['Hebrew', 'הרץ את הבדיקות'],
  ['Russian', 'Исправить ошибку в main.ts, a потом push'],
  ['Greek', 'Διόρθωση σφάλματος'],
  ['Hindi', 'परीक्षण चलाएँ'],
  ['Vietnamese, composed or not', `Tiếng Việt ${'Tiếng Việt'.normalize('NFD')}`],
  ['accents', 'Ärger naïve façade œuvre'],
  ['emoji', 'echo "👍🏽 ❤️ 🎉"'],
  ['Python', 'def f():\n    if x:\n        return [\n            1,\n        ]\n\n\nclass A:\n    pass\n'],
  ['Go', 'func main() {\n\tif err != nil {\n\t\t\t\t\treturn\n\t}\n}\n'],
  ['columns', `name${' '.repeat(30)}size`],
])('%s stays as it is', (_, text) => {
  expect(escapeDeceptive(text)).toBe(text)
})

test('emoji of several characters stay readable', () => {
  expect(escapeDeceptive('👩\u200d💻 1\ufe0f\u20e3')).toBe('👩\\u200d💻 1\\ufe0f\\u20e3')
})

describe('in a permission', () => {
  const detailsOf = (tool: string, input: Readonly<Record<string, unknown>>): string => {
    const { ask } = permission('p1', root, { permission: tool, patterns: ['p\u0430t'], call: { tool, input } })
    if (ask.type !== 'permission') return ''
    return [askTitle(ask as PermissionAsk), ...(askDetails(ask as PermissionAsk) ?? []).map(({ text }) => text)].join(
      '\n---\n',
    )
  }

  test('a diff keeps three empty lines, and counts many', () => {
    expect(detailsOf('write', { filePath: 'a', content: 'a\n\n\n\nb' })).toContain('+a\n+\n+\n+\n+b')
    expect(detailsOf('write', { filePath: 'a', content: `a${'\n'.repeat(121)}b` })).toContain(
      '+a\n+⟨120 empty lines⟩\n+b',
    )
    const patchText = `+a\n${'+\n-\n'.repeat(60)}+b`
    expect(detailsOf('apply_patch', { patchText })).toContain(
      '+a\n ⟨120 empty lines, some of them added or removed⟩\n+b',
    )
  })

  test('patterns, paths and fields are escaped too', () => {
    expect(detailsOf('edit', { filePath: '\u0440ath.ts', newString: 'x', oldString: '' })).toContain('\\u0440ath.ts')
    expect(detailsOf('other', { 'na\u200bme': 'v\u2800' })).toContain('v\\u2800')
    expect(detailsOf('other', {})).toContain('p\\u0430t')
  })
})

test('what is put into a text differs from the text without it', () => {
  const hidden = fc.constantFrom(
    ...['\u2800', '\u3164', '\u115f', '\uffa0', '\u00a0', '\u2003', '\u3000', '\u200b', '\u202e', '\u2066', '\ufeff'],
    ...['\u{e0041}', '\ufe00', '\u2028', '\u0085', '\r', '\u034f', '\u{1d159}', '\ue000', '\u0430', '\u03bf'],
    ...['\u0301'.repeat(2), '\u0336'.repeat(30), '\n'.repeat(120), ' '.repeat(1500), ' \n'.repeat(50), '\t'.repeat(99)],
  )
  const texts = fc.string({ unit: fc.constantFrom('a', 'i', ' ', '\n', '|', '-', '1', 'é', '漢', 'ж'), maxLength: 30 })
  fc.assert(
    fc.property(texts, fc.nat(30), hidden, fc.boolean(), (text, at, given, isDiff) => {
      const changed = `${text.slice(0, at)}${given}${text.slice(at)}`
      const shown = escapeDeceptive(changed, { isDiff })
      expect(shown).not.toBe(escapeDeceptive(text, { isDiff }))
      expect(shown.replace(/[\n\t ]/g, '')).not.toMatch(/[\p{Z}\p{C}\u2800\p{Default_Ignorable_Code_Point}]/u)
      expect(shown).not.toMatch(/\p{Mn}{5}|[a-z][\u0430\u03bf]|[\u0430\u03bf][a-z]/u)
      expect(shown).not.toMatch(/\n(?:[ +-]?[ \t]*\n){6}|[ \t]{41}/)
    }),
    { numRuns: 2000 },
  )
})
