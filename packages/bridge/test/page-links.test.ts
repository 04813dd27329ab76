import { createLinks } from '@reply/web'
import { expect, test } from 'vitest'
import { createPageLinks } from '../src/pages/page-links.ts'
import { createPeople } from '../src/people/people.ts'
import type { ChatPlace } from '../src/place.ts'
import type { Execution } from '../src/state/execution.ts'

const links = createLinks({ secret: 'x'.repeat(32) })
const people = createPeople({
  ann: { ids: ['tg:1', 'wa:49'], may: ['prompt', 'approve'] },
  bob: { ids: ['tg:2'], may: ['prompt'] },
})
const execution: Execution = {
  id: 'abc234',
  ...{ server: 'home', sessionID: 'ses_1', phase: 'posting', status: 'running', startedAt: 1000 },
  prompt: {
    ...{ id: '7', channel: 'tg', chat: { id: '1', kind: 'private' }, actor: { id: '1', name: 'Ann' }, text: 'Go.' },
    ...{ files: [], isCommand: false, messageRef: { id: '7' }, receivedAt: 1000 },
  },
}

/** What the link of the run in a place lets its bearer do. */
function grantIn(place: ChatPlace): unknown {
  const pages = createPageLinks({ links, publicUrl: 'https://a.example/x/y', linkMs: 60_000, people })
  const url = pages.urlFor(execution, place)
  expect(url.href.startsWith('https://a.example/x/y/r/')).toBe(true)
  return links.verify(url.hash.slice(1), url.pathname.split('/').at(-1) ?? '', 2000)
}

const all = { answer: true, stop: true }
const none = { answer: false, stop: false }

test.each([
  [
    'in the private chat of the run is for its author',
    { channel: 'tg', chat: { id: '1', kind: 'private' } },
    'tg:1',
    all,
  ],
  ['in a private mirror is for the person there', { channel: 'tg', chat: { id: '2', kind: 'private' } }, 'tg:2', all],
  [
    'in a private mirror of another channel only shows the run, because nothing can be done from there',
    { channel: 'wa', chat: { id: '49', kind: 'private' } },
    'wa:49',
    none,
  ],
  ['in a shared mirror only shows the run', { channel: 'tg', chat: { id: '-5', kind: 'shared' } }, '', none],
  [
    'in the private chat of a stranger only shows the run',
    { channel: 'tg', chat: { id: '9', kind: 'private' } },
    '',
    none,
  ],
] as const)('a link %s', (_, place, id, rights) => {
  expect(grantIn(place)).toMatchObject({ person: { id }, rights })
})
