import type { ComponentChildren } from 'preact'
import type { OpenedRecording, ReplyName } from '../../src/inspect/recording.ts'
import type { Change } from '../../src/state/difference.ts'
import { toPageRun } from '../../src/state/to-page-run.ts'
import { prettyJson } from './format.ts'
import { LongText } from './long-text.tsx'
import { texts } from './texts.ts'
import { Words } from './words.tsx'

const mostChanges = 200

interface CompareProps {
  readonly recording: OpenedRecording
  readonly from: number
  readonly to: number
  readonly name: ReplyName | undefined
}

/** What differs between a reply at two moments, word by word. */
export function Compare({ recording, from, to, name }: CompareProps): ComponentChildren {
  const changes = recording.compare(from, to, name)
  const reply = recording.replyAt(from, name)
  const before = reply ? toPageRun(reply).reply : null
  if (changes.length === 0) return <p class="note">{texts.same}</p>
  return (
    <>
      <p class="note">{texts.differences(changes.length)}</p>
      <ul class="differences">
        {changes.slice(0, mostChanges).map((change, index) => (
          <li key={index}>
            <code class="path">{pathText(change)}</code>
            <Difference change={change} before={before} />
          </li>
        ))}
      </ul>
      {changes.length > mostChanges && <p class="note">{texts.more(changes.length - mostChanges)}</p>}
    </>
  )
}

function Difference({ change, before }: { readonly change: Change; readonly before: unknown }): ComponentChildren {
  const [path, kind, given] = change
  const old = valueAt(before, path)
  if (kind === '+') {
    const text = typeof old === 'string' ? old : ''
    return <Words from={text} to={text + given} />
  }
  if (kind === '=' && isPlain(given) && isPlain(old)) return <Words from={String(old)} to={String(given)} />
  if (kind === '=')
    return (
      <>
        {old !== undefined && old !== null && <LongText class="removed" text={prettyJson(old)} />}
        <LongText class="added" text={prettyJson(given)} />
      </>
    )
  if (kind === '-') return <LongText class="removed" text={prettyJson(old)} />
  if (kind === '<') return <LongText text={given.join(', ')} />
  const [, , at, removed, added] = change
  const items = Array.isArray(old) ? old.slice(at, at + removed) : []
  return (
    <>
      {items.length > 0 && <LongText class="removed" text={prettyJson(items)} />}
      {added.length > 0 && <LongText class="added" text={prettyJson(added)} />}
    </>
  )
}

/** Whether a value has no parts. */
function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function pathText([path]: Change): string {
  return path.length === 0 ? texts.reply : path.join('.')
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = Reflect.get(at, key)
  }
  return at
}
