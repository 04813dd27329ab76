import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { toPolicy } from '../src/config.ts'

const source = readFileSync(new URL('../src/config.ts', import.meta.url), 'utf8')
const documented = new Map(
  [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+readonly (\w+)\??:/g)].map(([, doc = '', field = '']) => [
    field,
    /Default `?([\w,]+)/.exec(doc.replaceAll(/\s*\n\s*\* ?/g, ' '))?.[1]?.replaceAll(',', ''),
  ]),
)

test.each(Object.entries(toPolicy()))('the doc comment of %s names its default, %s', (field, value) => {
  expect(documented.get(field)).toBe(String(value))
})
