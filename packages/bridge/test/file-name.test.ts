import { expect, test } from 'vitest'
import { fileNameOf } from '../src/intake/file-name.ts'

test.each([
  ['Report (final).pdf', 'Report (final).pdf'],
  ['Übersicht 日本.txt', 'Übersicht 日本.txt'],
  ['.env', '.env'],
  ['../../x', 'x'],
  ['/etc/passwd', 'passwd'],
  ['C:\\Users\\ann\\x.txt', 'x.txt'],
  ['..\\..\\x', 'x'],
  ['folder/', 'file'],
  ['..', 'file'],
  ['../..', 'file'],
  ['', 'file'],
  [' \n\t ', 'file'],
  ['a\u0007\nb\u202e.txt', 'a_u0007 b_u202e.txt'],
  ['\u0000', '_u0000'],
  ['a\ud800.txt', 'a_ud800.txt'],
])('a file that is reported as %j is named %j', (reported, name) => {
  expect(fileNameOf(reported)).toBe(name)
  expect(fileNameOf(name)).toBe(name)
})

test.each([
  [`${'n'.repeat(296)}.txt`, `${'n'.repeat(248)}….txt`],
  ['n'.repeat(300), `${'n'.repeat(252)}…`],
  [`${'日'.repeat(300)}.pdf`, `${'日'.repeat(82)}….pdf`],
  [`${'😀'.repeat(100)}.png`, `${'😀'.repeat(62)}….png`],
  [`a.${'n'.repeat(300)}`, `a.${'n'.repeat(250)}…`],
  ['\u202e'.repeat(300), `${'_u202e'.repeat(42)}…`],
])('a name that is too long for a file system is cut before its ending', (reported, name) => {
  expect(fileNameOf(reported)).toBe(name)
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
  expect(fileNameOf(name)).toBe(name)
})

test('a name of many characters is read in linear time', () => {
  expect(fileNameOf(`${'a/'.repeat(500_000)}x.txt`)).toBe('x.txt')
  expect(Buffer.byteLength(fileNameOf(`${'.'.repeat(500_000)}n`))).toBeLessThanOrEqual(255)
})
