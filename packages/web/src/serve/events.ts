import type { ReaderProjection } from '@reply/core/internal'
import { differenceOf } from '../state/difference.ts'
import type { PageAccess } from '../state/page-access.ts'

/** What a stream of events needs. */
export interface EventsOptions {
  /** What the reader may do now. Undefined once it may not read any more, which ends the stream. */
  readonly access: () => PageAccess | undefined
  /** Whether no other state will follow. */
  readonly hasEnded: () => boolean
}

/**
 * Says what one reader lacks, as texts of events: `access`, the first state as `run`, what changes as `change`, and `end`. All
 * that it keeps of the reader is the state that was sent last.
 */
export function createEvents({ access, hasEnded }: EventsOptions): ReaderProjection<object> {
  let had: object | undefined
  let sentAccess = ''
  let seq = 0
  let ended = false
  return {
    next,
    get ended() {
      return ended
    },
  }

  function next(state: object): readonly string[] {
    const newAccess = access()
    if (!newAccess) {
      ended = true
      return []
    }
    const accessText = JSON.stringify(newAccess)
    const events = accessText === sentAccess ? [] : [eventText('access', accessText)]
    sentAccess = accessText
    events.push(...stateEvents(state))
    if (hasEnded()) {
      ended = true
      events.push(eventText('end', '{}'))
    }
    return events
  }

  function stateEvents(state: object): readonly string[] {
    if (state === had) return []
    const [event, field, text] = had
      ? (['change', 'changes', changesText(had, state)] as const)
      : (['run', 'run', stateText(state)] as const)
    had = state
    if (text === '[]') return []
    seq += 1
    return [eventText(event, `{"seq":${seq},"${field}":${text}}`)]
  }
}

/** JSON has no line breaks, so it is one line of data. */
function eventText(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`
}

/**
 * The JSON of states that were sent, for readers that begin with the same one at the same time. Held weakly, because a state may
 * stay for long after its last reader.
 */
const stateTexts = new WeakMap<object, WeakRef<{ readonly text: string }>>()

/** The JSON of changes, by the state before and the state after, for all readers that go from one to the other. */
const changesTexts = new WeakMap<object, WeakMap<object, string>>()

function stateText(state: object): string {
  const known = stateTexts.get(state)?.deref()
  if (known) return known.text
  const made = { text: JSON.stringify(state) }
  stateTexts.set(state, new WeakRef(made))
  return made.text
}

function changesText(from: object, to: object): string {
  const texts = changesTexts.get(from) ?? new WeakMap<object, string>()
  changesTexts.set(from, texts)
  const known = texts.get(to)
  if (known !== undefined) return known
  const text = JSON.stringify(differenceOf(from, to))
  texts.set(to, text)
  return text
}
