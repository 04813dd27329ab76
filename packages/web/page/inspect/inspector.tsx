import { escapeInvisible } from '@reply/core'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { InspectedReply } from '../../src/inspect/player.ts'
import { toPageRun } from '../../src/state/to-page-run.ts'
import { RunView } from '../view/run-view.tsx'
import { Chat } from './chat.tsx'
import { Compare } from './compare.tsx'
import { type InspectData, loadData } from './data.ts'
import { Changes, Decoded, Raw, Tracked } from './details.tsx'
import { span, timeOfDay } from './format.ts'
import { Frames } from './frames.tsx'
import { readPlace, writePlace } from './place.ts'
import { texts } from './texts.ts'
import { TimeLine } from './time-line.tsx'

type Loaded = { readonly data?: InspectData; readonly error?: string }

/** The whole page: a recording, the reply at a moment of it, and what led there. */
export function Inspector(): ComponentChildren {
  const [{ data, error }, setLoaded] = useState<Loaded>({})
  const [, setGrown] = useState(0)
  const place = useMemo(readPlace, [])
  useEffect(() => {
    loadData(place.token, (next) => {
      setLoaded({ data: next })
      setGrown(next.recording.moments)
    }).catch((cause: unknown) => setLoaded({ error: cause instanceof Error ? cause.message : String(cause) }))
  }, [])
  if (error !== undefined) return <Note text={texts.failed(error)} />
  if (!data || (data.state === 'reading' && data.recording.length === 0)) return <Note text={texts.reading(0)} />
  return <Opened data={data} token={place.token} start={place.moment} startReply={place.reply} />
}

function Note({ text }: { readonly text: string }): ComponentChildren {
  return (
    <main class="inspect-note">
      <p role="status">{text}</p>
    </main>
  )
}

interface OpenedProps {
  readonly data: InspectData
  readonly token: string
  readonly start: number | undefined
  readonly startReply: number | undefined
}

const panes = ['raw', 'decoded', 'tracked', 'changes', 'channels'] as const
type Pane = (typeof panes)[number]

const views = ['reply', 'frames', 'details'] as const
type View = (typeof views)[number]

function Opened({ data, token, start, startReply }: OpenedProps): ComponentChildren {
  const { recording } = data
  const { moments } = recording
  // Until the reader goes somewhere, the newest moment is shown.
  const [chosen, setMoment] = useState<number | undefined>(start)
  const [replyIndex, setReply] = useState<number | undefined>(startReply)
  const [from, setFrom] = useState<number | undefined>(undefined)
  const [pane, setPane] = useState<Pane>('raw')
  const [view, setView] = useState<View>('reply')
  const [followed, follow] = useState<string | undefined>(undefined)
  const [query, setQuery] = useState('')
  const search = useRef<HTMLInputElement>(null)
  const last = Math.max(0, moments - 1)
  const moment = Math.min(chosen ?? last, last)
  const found = useMemo(() => recording.search(query), [query, recording.length])
  const foundSet = useMemo(() => new Set(found), [found])
  const replies = recording.repliesAt(moment)
  const shown = replies[replyIndex ?? -1] ?? newestOf(replies)
  const name = shown && { sessionID: shown.sessionID, run: shown.run }
  const isEnd = moment >= recording.length
  const frame = recording.frame(moment)

  const go = (next: number | undefined): void => {
    if (next !== undefined) setMoment(Math.max(0, Math.min(last, next)))
  }
  const change = (direction: 1 | -1): void => {
    if (followed === undefined) go(recording.changeFrom(moment, direction))
    else go(direction === 1 ? recording.nextChangeOf(followed, moment) : recording.previousChangeOf(followed, moment))
  }
  const goFound = (direction: 1 | -1): void => {
    const next = direction === 1 ? found.find((one) => one > moment) : found.findLast((one) => one < moment)
    go(next ?? (direction === 1 ? found[0] : found.at(-1)))
  }
  const toggleCompare = (): void => setFrom(from === undefined ? moment : undefined)

  const press = (event: KeyboardEvent): void => {
    const action = actionOf(event)
    if (!action) return
    // Before the keys of the run's view.
    event.preventDefault()
    event.stopPropagation()
    action()
  }
  function actionOf({ key, shiftKey, ctrlKey, metaKey, altKey, target }: KeyboardEvent): (() => void) | undefined {
    if (ctrlKey || metaKey || altKey) return undefined
    if (target instanceof Element && target.closest('input, textarea, select, dialog, [role="tablist"]'))
      return undefined
    switch (key) {
      case 'ArrowRight':
        return shiftKey ? () => change(1) : () => go(moment + 1)
      case 'ArrowLeft':
        return shiftKey ? () => change(-1) : () => go(moment - 1)
      case 'Home':
        return () => go(0)
      case 'End':
        return () => go(last)
      case '/':
        return () => search.current?.focus()
      case 'c':
        return toggleCompare
      case 'Escape':
        return from === undefined ? undefined : () => setFrom(undefined)
      default:
        return undefined
    }
  }
  const newestPress = useRef(press)
  newestPress.current = press
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => newestPress.current(event)
    window.addEventListener('keydown', listener, { capture: true })
    return () => window.removeEventListener('keydown', listener, { capture: true })
  }, [])
  useEffect(() => {
    const listener = (): void => {
      const place = readPlace()
      setMoment(place.moment)
      setReply(place.reply)
    }
    window.addEventListener('hashchange', listener)
    return () => window.removeEventListener('hashchange', listener)
  }, [])
  useEffect(() => {
    document.title = texts.title(data.name)
  }, [data.name])
  useEffect(() => {
    if (chosen === undefined) return
    // Browsers refuse many changes of the address in a short time.
    const timer = setTimeout(() => writePlace(token, moment, replyIndex), 150)
    return () => clearTimeout(timer)
  }, [moment, replyIndex, chosen])

  const details = { frame, isEnd, go }
  return (
    <main class="inspect" data-view={view}>
      <header class="inspect-bar">
        <h1>{escapeInvisible(data.name)}</h1>
        {data.state === 'live' && <span class="badge">{texts.live}</span>}
        {data.state === 'lost' && (
          <span class="badge lost" role="status">
            {texts.lost}
          </span>
        )}
        {data.state === 'reading' && (
          <span class="badge" role="status">
            {texts.reading(recording.length)}
          </span>
        )}
        {replies.length > 1 && (
          <label class="pick">
            <span class="visually-hidden">{texts.reply}</span>
            <select
              value={String(shown ? replies.indexOf(shown) : 0)}
              onChange={(event) => setReply(Number(event.currentTarget.value))}
            >
              {replies.map((one, index) => (
                <option key={index} value={String(index)}>
                  {texts.replyOf(escapeInvisible(one.reply.title ?? one.sessionID), one.run)}
                </option>
              ))}
            </select>
          </label>
        )}
        <search class="frame-search">
          <input
            ref={search}
            type="search"
            placeholder={texts.search}
            aria-label={texts.search}
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') goFound(event.shiftKey ? -1 : 1)
              if (event.key === 'Escape') search.current?.blur()
            }}
          />
          {query !== '' && (
            <>
              <output>{texts.found(found.filter((one) => one <= moment).length, found.length)}</output>
              <button
                type="button"
                title={texts.previousFound}
                aria-label={texts.previousFound}
                onClick={() => goFound(-1)}
              >
                ↑
              </button>
              <button type="button" title={texts.nextFound} aria-label={texts.nextFound} onClick={() => goFound(1)}>
                ↓
              </button>
            </>
          )}
        </search>
      </header>

      <section class="inspect-reply" aria-label={texts.region.reply}>
        {shown ? (
          <RunView
            key={`${shown.sessionID} ${shown.run}`}
            run={toPageRun(shown.reply)}
            moment={data.state === 'live' && chosen === undefined ? undefined : frame.at}
          />
        ) : (
          <p class="note">{texts.noReply}</p>
        )}
      </section>

      <section class="inspect-moment" aria-label={texts.region.controls}>
        <div class="steps">
          <Step label={texts.step.first} sign="⇤" act={() => go(0)} />
          <Step label={texts.step.previousChange} sign="«" act={() => change(-1)} />
          <Step label={texts.step.previous} sign="‹" act={() => go(moment - 1)} />
          <Step label={texts.step.next} sign="›" act={() => go(moment + 1)} />
          <Step label={texts.step.nextChange} sign="»" act={() => change(1)} />
          <Step label={texts.step.last} sign="⇥" act={() => go(last)} />
        </div>
        <p class="moment">
          <strong>{momentText(recording.length, moment)}</strong>
          <span>{timeOfDay(frame.at)}</span>
          <span>{frame.at > 0 && texts.after(span(frame.at - recording.startedAt))}</span>
        </p>
        <button
          type="button"
          class="button small"
          title={texts.compareKey}
          aria-pressed={from !== undefined}
          onClick={toggleCompare}
        >
          {from === undefined ? texts.compare : texts.endCompare}
        </button>
        <TimeLine recording={recording} moments={moments} moment={moment} from={from} found={found} go={go} />
        <fieldset class="views" aria-label={texts.panesLabel}>
          {views.map((one) => (
            <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
              {texts.views[one]}
            </button>
          ))}
        </fieldset>
      </section>

      <div class="inspect-frames">
        <Frames recording={recording} moments={moments} moment={moment} found={foundSet} go={go} />
      </div>

      <section class="inspect-details" aria-label={texts.region.details}>
        {from !== undefined ? (
          <div class="pane">
            <h2>{texts.compared(momentText(recording.length, from), momentText(recording.length, moment))}</h2>
            <Compare recording={recording} from={from} to={moment} name={name} />
          </div>
        ) : (
          <>
            <div class="pane-tabs" role="tablist" aria-label={texts.panesLabel}>
              {panes.map((one) => (
                <button
                  key={one}
                  type="button"
                  role="tab"
                  id={`pane-tab-${one}`}
                  aria-selected={pane === one}
                  aria-controls="pane"
                  tabIndex={pane === one ? 0 : -1}
                  onClick={() => setPane(one)}
                  onKeyDown={(event) => moveTab(event, one, setPane)}
                >
                  {texts.panes[one]}
                  {one === 'changes' && count(frame.steps.reduce((sum, { changes }) => sum + changes.length, 0))}
                  {one === 'decoded' && count(frame.events.length)}
                </button>
              ))}
            </div>
            <div class="pane" id="pane" role="tabpanel" aria-labelledby={`pane-tab-${pane}`}>
              {pane === 'raw' && <Raw {...details} />}
              {pane === 'decoded' && <Decoded {...details} />}
              {pane === 'tracked' && <Tracked {...details} />}
              {pane === 'changes' && <Changes {...details} followed={followed} follow={follow} />}
              {pane === 'channels' && (
                <Chat data={data} at={isEnd ? Number.POSITIVE_INFINITY : frame.at} sessionID={name?.sessionID} />
              )}
            </div>
          </>
        )}
      </section>
    </main>
  )
}

function Step({
  label,
  sign,
  act,
}: {
  readonly label: string
  readonly sign: string
  readonly act: () => void
}): ComponentChildren {
  return (
    <button type="button" title={label} aria-label={label} onClick={act}>
      <span aria-hidden="true">{sign}</span>
    </button>
  )
}

function count(number: number): ComponentChildren {
  return number > 0 && <span class="count">{number}</span>
}

function moveTab(event: KeyboardEvent, pane: Pane, setPane: (pane: Pane) => void): void {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (by === 0) return
  event.preventDefault()
  const next = panes[(panes.indexOf(pane) + by + panes.length) % panes.length] ?? pane
  setPane(next)
  document.getElementById(`pane-tab-${next}`)?.focus()
}

function momentText(length: number, moment: number): string {
  return moment >= length ? texts.end : texts.moment(moment, length)
}

/** The reply that changed last. */
function newestOf(replies: readonly InspectedReply[]): InspectedReply | undefined {
  return replies.reduce<InspectedReply | undefined>(
    (newest, one) => (newest && newest.changedAt > one.changedAt ? newest : one),
    undefined,
  )
}
