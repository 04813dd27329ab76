import { expect, test } from 'vitest'
import { isMisleading, isOpenable } from '../src/markdown/link-text.ts'

const evil = 'https://evil.example/a'

test.each([
  'https://bank.example',
  'http://bank.example/login',
  '//bank.example',
  '://bank.example',
  'www.bank.example',
  'bank.example',
  'Bank.Example/login',
  'Log in at bank.example.',
  '(bank.example)',
  'ba\u200bnk.example',
  'b\uff41nk.example',
  'bank\uff0eexample',
  'https://bank.example https://evil.example',
  '192.0.2.1',
  'b\u00e4nk.example',
  'evil.example.bank.example',
])('a link called %s leads elsewhere', (text) => {
  expect(isMisleading(text, evil)).toBe(true)
})

test.each([
  'evil.example',
  'https://evil.example/other',
  'www.evil.example',
  'EVIL.example',
  'here',
  'index.ts',
  'package.json: line 3',
  'e.g. this',
  'v1.2.3',
  'a // b',
  '3.5 of 4',
])('a link called %s misleads no one', (text) => {
  expect(isMisleading(text, evil)).toBe(false)
})

test.each([
  ['https://bank.example', 'https://bank.example@evil.example/', true],
  ['https://bank.example', 'https://bank.example.evil.example/', true],
  ['ann@bank.example', 'mailto:eve@evil.example', true],
  ['ann@bank.example', 'mailto:Ann@bank.example', false],
  ['ann@bank.example', 'https://evil.example', true],
  ['http://localhost:4096', 'http://localhost:4096/a', false],
  ['localhost:4096', 'http://localhost:4097', false],
  ['https://a.example:1', 'https://a.example:2', true],
])('%s for %s: %s', (text, href, misleads) => {
  expect(isMisleading(text, href)).toBe(misleads)
})

test.each([
  ['https://a.example', true],
  ['HTTP://a.example', true],
  ['mailto:a@b.example', true],
  ['javascript:alert(1)', false],
  ['tg://user?id=1', false],
  ['data:text/html,a', false],
  ['/etc/passwd', false],
  ['https:a', false],
  ['https://', false],
  ['java\nscript:x', false],
  ['https://a\u0000.example', false],
  ['https://a\u200b.example', false],
  ['https://bank.example@evil.example', false],
  ['https://bank.example:a@evil.example/b', false],
  ['https://bank.example\\@evil.example', false],
  ['https://a.example/@b', true],
  ['https://a.example?b=c@d.example', true],
])('%s may be a link: %s', (href, may) => {
  expect(isOpenable(href)).toBe(may)
})
