import { fileFacts } from '@reply/core/show'
import { expect, test } from 'vitest'

const png = { id: 'f', mime: 'image/png' }

test.each([
  ['its name', { url: 'data:,', filename: 'a b.png' }, 'a b.png'],
  ['its name without folders', { url: 'file:///a/b.png', filename: '../../etc/c.png' }, 'c.png'],
  ['a Windows name without folders', { url: 'data:,', filename: 'C:\\\\x\\\\c.png' }, 'c.png'],
  ['an address as its name', { url: 'data:,', filename: 'file:///dots/dot.gif' }, 'dot.gif'],
  ['the end of its address', { url: 'https://example.com/a/b%20c.png?d=/e#f/g' }, 'b c.png'],
  ['the end of its path', { url: '/project/dot.png' }, 'dot.png'],
  ['a path with a percent sign', { url: '/project/100%.png' }, '100%.png'],
  ['an address that is malformed', { url: 'file:///a/%ff.png' }, '%ff.png'],
  ['the end of any scheme', { url: 'notes:day/1.md' }, '1.md'],
  ['its type, as it has no path', { url: 'https://example.com/' }, 'image/png'],
  ['its type, as its name is a folder', { url: 'data:,', filename: 'a/' }, 'image/png'],
  ['a word, as it has nothing', { url: '', mime: '' }, 'file'],
] as const)('a file is called by %s', (_, file, name) => {
  expect(fileFacts({ ...png, ...file }).name).toBe(name)
})

test('a file has its caption without blanks around it, if it has one', () => {
  const captionOf = (caption: string) => fileFacts({ ...png, url: 'data:,', caption }).caption
  expect([captionOf(' Sales '), captionOf(' ')]).toEqual(['Sales', undefined])
})

test('a file has its address and its size, unless the reply has its content', () => {
  expect(fileFacts({ ...png, url: '/project/a.png', size: 7 })).toEqual({
    name: 'a.png',
    size: 7,
    link: '/project/a.png',
  })
  expect(fileFacts({ ...png, url: 'DATA:,abc' })).toEqual({ name: 'image/png', size: undefined, link: undefined })
})
