import { escapeInvisible, type FileChange, type Part, pendingAsks, type Reply } from '@reply/core'
import { changesLine, changesOf, countChanges, elapsed } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { PageRun } from '../../src/state/page-run.ts'
import { texts } from '../texts.ts'
import { About } from './about.tsx'
import { titleOf } from './ask.tsx'
import { Moment, type RunActions, type RunSources, useNow, View, type ViewAccess, type ViewContext } from './context.ts'
import { Changes, useIsWide } from './diff/changes.tsx'
import { Icon } from './icons.tsx'
import { KeyHelp, useKeys } from './keys.tsx'
import { List, type ListControl, type ListView } from './list.tsx'
import { asReply } from './reply.ts'
import { contextOf, RowView } from './row.tsx'
import { createRows, type Row } from './rows.ts'
import { Search } from './search.tsx'
import './styles.ts'

export type { RunActions, RunSources, ViewAccess } from './context.ts'

export interface RunViewProps {
  readonly run: PageRun
  /** What the reader may do. Without it, nothing. */
  readonly access?: ViewAccess | undefined
  /** How it is done. Without them, the run can only be read. */
  readonly actions?: RunActions | undefined
  /** Where files and the session's diff come from. */
  readonly sources?: RunSources | undefined
  /** The moment that is shown, in ms since the epoch. Without it, that is now. */
  readonly moment?: number | undefined
}

type ViewName = 'run' | 'changes' | 'about'

/** Wide enough for what is known of the run beside what happened. */
const roomy = matchMedia('(min-width: 1100px)')

/** A whole run: what was asked, what the agent did and wrote, what it asks, what it changed, and how it ended. */
export function RunView({ run, access, actions, sources, moment }: RunViewProps): ComponentChildren {
  const reply = asReply(run.reply)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [chosen, setChosen] = useState<ViewName>('run')
  /** Where the reader was in each view. */
  const places = useRef(new Map<ViewName, number>())
  const setView = (next: ViewName): void => {
    if (next === chosen) return
    places.current.set(chosen, window.scrollY)
    setChosen(next)
    requestAnimationFrame(() => window.scrollTo(0, places.current.get(next) ?? 0))
  }
  const [inView, setInView] = useState<ListView>({ first: 0, last: 0, isAtEnd: true })
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isSearching, setSearching] = useState(false)
  const [marked, setMarked] = useState<string | undefined>(undefined)
  const isRoomy = useIsWide(roomy)
  const view = chosen === 'about' && isRoomy ? 'run' : chosen
  const makeRows = useMemo(createRows, [])
  const { rows, scopes, asks } = makeRows(reply, (key) => open.has(key))
  const control = useRef<ListControl | undefined>(undefined)
  const slow = useSlow(reply)
  const changes = useChanges(slow)
  // As old as what else is slow, so that a text that grows is not searched each time.
  const searched = useMemo(() => rows, [slow, rows.length, open])
  const newestSources = useRef<RunSources>({})
  newestSources.current = sources ?? {}
  const context = useMemo(
    (): ViewContext => ({
      isOpen: () => false,
      toggle: (key) => {
        control.current?.hold()
        setOpen((before) =>
          before.has(key) ? new Set([...before].filter((one) => one !== key)) : new Set([...before, key]),
        )
      },
      kept: new Map(),
      sources: () => newestSources.current,
    }),
    [],
  )
  const isRunning = reply.phase !== 'settled'
  const goTo = (index: number): void => {
    setView('run')
    control.current?.goTo(Math.max(0, Math.min(rows.length - 1, index)))
  }
  const keysSwitch = useKeys({
    n: () => goTo((control.current?.current() ?? -1) + 1),
    p: () => goTo((control.current?.current() ?? 1) - 1),
    a: () => {
      const [first] = asks
      const at = control.current?.current() ?? -1
      const next = asks.find((index) => index > at) ?? first
      if (next !== undefined) goTo(next)
    },
    g: () => goTo(0),
    G: () => control.current?.goToEnd(),
    c: () => setView('changes'),
    r: () => setView('run'),
    '/': () => setSearching(true),
    '?': () => setHelpOpen(true),
  })
  return (
    <View.Provider value={context}>
      <Moment.Provider value={moment}>
        <article class="run" aria-labelledby="run-title">
          <Announcer reply={reply} />
          <header class="run-head">
            <h1 id="run-title" dir="auto">
              {escapeInvisible(reply.title ?? texts.untitled)}
            </h1>
          </header>
          <div class="run-bar">
            <div class="tabs" role="tablist" aria-label={texts.viewsLabel}>
              <Tab name="run" view={view} choose={setView} />
              <Tab
                name="changes"
                view={view}
                choose={setView}
                note={changes.length === 0 ? undefined : changesNote(changes)}
              />
              {!isRoomy && <Tab name="about" view={view} choose={setView} />}
            </div>
            <Status reply={reply} />
            {isRunning && actions && access?.mayStop && <StopButton actions={actions} reply={reply} />}
            <button type="button" class="open-search" title={texts.search.label} onClick={() => setSearching(true)}>
              <Icon name="search" />
              <span class="visually-hidden">{texts.search.label}</span>
            </button>
            <button type="button" class="key-help" title={texts.keys.open} onClick={() => setHelpOpen(true)}>
              <span aria-hidden="true">?</span>
              <span class="visually-hidden">{texts.keys.open}</span>
            </button>
          </div>
          <div class={isRoomy && view === 'run' ? 'run-columns' : 'run-column'}>
            <div id="view-run" class="run-main" role="tabpanel" aria-labelledby="tab-run" hidden={view !== 'run'}>
              <List
                count={rows.length}
                keyOf={(index) => rows[index]?.key ?? String(index)}
                row={(index) => {
                  const row = rows[index]
                  return (
                    row && (
                      <RowView
                        row={row}
                        {...contextOf(row, scopes.get(row.owner))}
                        answers={run.answers}
                        open={open}
                        access={access}
                        actions={actions}
                      />
                    )
                  )
                }}
                estimate={(index) => heightOf(rows[index])}
                beginsAtEnd={isRunning}
                onView={setInView}
                control={(made) => {
                  control.current = made
                }}
                label={texts.rows}
                marked={marked}
              />
              <Jump
                asks={asks.filter((index) => index > inView.last)}
                isBehind={isRunning && !inView.isAtEnd}
                goTo={goTo}
                goToEnd={() => control.current?.goToEnd()}
              />
            </div>
            {isRoomy && view === 'run' && <About reply={slow} />}
            {view === 'changes' && (
              <div id="view-changes" role="tabpanel" aria-labelledby="tab-changes">
                <Changes changes={changes} />
              </div>
            )}
            {view === 'about' && (
              <div id="view-about" role="tabpanel" aria-labelledby="tab-about">
                <About reply={slow} />
              </div>
            )}
          </div>
          {isSearching && (
            <Search
              rows={searched}
              goTo={(row) => {
                setView('run')
                setMarked(row.key)
                if (row.type === 'tool' || row.type === 'reasoning') setOpen((before) => new Set([...before, row.key]))
                control.current?.hold()
                control.current?.goTo(
                  rows.findIndex(({ key }) => key === row.key),
                  false,
                )
              }}
              close={() => {
                setSearching(false)
                setMarked(undefined)
              }}
            />
          )}
          {isHelpOpen && <KeyHelp keys={keysSwitch} close={() => setHelpOpen(false)} />}
        </article>
      </Moment.Provider>
    </View.Provider>
  )
}

/** How often what is computed of all parts is computed again, in ms. */
const slowMs = 1000

/** Returns the reply as it was up to a second ago, or as it is once it has ended. */
function useSlow(reply: Reply): Reply {
  const [shown, setShown] = useState(reply)
  const newest = useRef(reply)
  newest.current = reply
  const isBehind = shown !== reply
  useEffect(() => {
    if (!isBehind) return
    const timer = setTimeout(() => setShown(newest.current), slowMs)
    return () => clearTimeout(timer)
  }, [isBehind])
  return reply.phase === 'settled' ? reply : shown
}

interface Changed {
  readonly edits: readonly unknown[]
  readonly changes: readonly FileChange[]
}

/** Returns what the run changed. It is the same list until another edit has ended. */
function useChanges(reply: Reply): readonly FileChange[] {
  const known = useRef<Changed>({ edits: [], changes: [] })
  return useMemo(() => {
    const edits = editsOf(reply)
    const before = known.current
    const isSame = before.edits.length === edits.length && before.edits.every((edit, at) => edit === edits[at])
    if (!isSame) known.current = { edits, changes: changesOf(reply) }
    return known.current.changes
  }, [reply])
}

/** Everything that `changesOf` reads: the calls that ended, and what the server reports. */
function editsOf({ changes, directory, messages, children }: Reply): readonly unknown[] {
  const isEdit = (part: Part): boolean =>
    part.type === 'patch' || (part.type === 'tool' && part.state.status === 'completed')
  const own = messages.flatMap(({ parts }) => parts.filter(isEdit))
  return [changes, directory, ...own, ...children.flatMap(({ reply }) => editsOf(reply))]
}

function changesNote(changes: readonly FileChange[]): string {
  return changesLine(countChanges(changes))
}

interface TabProps {
  readonly name: ViewName
  readonly view: ViewName
  readonly choose: (name: ViewName) => void
  readonly note?: string | undefined
}

function Tab({ name, view, choose, note }: TabProps): ComponentChildren {
  const isChosen = name === view
  return (
    <button
      type="button"
      role="tab"
      id={`tab-${name}`}
      aria-selected={isChosen}
      aria-controls={isChosen ? `view-${name}` : undefined}
      onClick={() => choose(name)}
    >
      {texts.views[name]}
      {note !== undefined && <span class="tab-note">{note}</span>}
    </button>
  )
}

/** The state of the run in a word. */
function Status({ reply }: { readonly reply: Reply }): ComponentChildren {
  const { phase, outcome, startedAt, connection } = reply
  const now = useNow(phase !== 'settled')
  const isLost = connection === 'lost' && phase !== 'settled'
  const text = isLost ? texts.noConnection : outcome ? texts.outcomes[outcome] : texts.phases[phase]
  return (
    <p class={`status ${isLost ? 'lost' : (outcome ?? phase)}`}>
      <span class="status-dot" aria-hidden="true" />
      {text}
      {phase !== 'settled' && startedAt !== undefined && <span class="status-time">{elapsed(now - startedAt)}</span>}
    </p>
  )
}

interface StopButtonProps {
  readonly actions: RunActions
  readonly reply: Reply
}

function StopButton({ actions, reply }: StopButtonProps): ComponentChildren {
  const [isSent, setSent] = useState(false)
  const [problem, setProblem] = useState<string>()
  const isStopping = isSent || reply.aborting !== undefined
  const stop = async (): Promise<void> => {
    setSent(true)
    setProblem(undefined)
    try {
      await actions.stop()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : texts.unknownError)
    }
    setSent(false)
  }
  return (
    <span class="stop">
      <button type="button" class="button danger" disabled={isStopping} onClick={() => void stop()}>
        {isStopping ? texts.stopping : texts.stop}
      </button>
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </span>
  )
}

interface JumpProps {
  /** The indices of the asks below what is in view. */
  readonly asks: readonly number[]
  readonly isBehind: boolean
  readonly goTo: (index: number) => void
  readonly goToEnd: () => void
}

/** A button to what waits or grows out of view. */
function Jump({ asks: [first, ...more], isBehind, goTo, goToEnd }: JumpProps): ComponentChildren {
  if (first === undefined && !isBehind) return null
  return (
    <button
      type="button"
      class={first === undefined ? 'jump' : 'jump asks'}
      onClick={() => (first === undefined ? goToEnd() : goTo(first))}
    >
      <Icon name="down" />
      {first === undefined ? texts.newest : texts.waits(more.length + 1)}
    </button>
  )
}

/** Tells a screen reader of asks and of the end, and of nothing else. */
function Announcer({ reply }: { readonly reply: Reply }): ComponentChildren {
  const [text, setText] = useState('')
  const asks = pendingAsks(reply)
  const newest = asks.at(-1)
  const asked = newest && titleOf(newest)
  const { outcome } = reply
  const isFirst = useRef(true)
  useEffect(() => {
    const wasFirst = isFirst.current
    isFirst.current = false
    if (outcome) {
      if (!wasFirst) setText(texts.announced.ended(texts.outcomes[outcome]))
    } else if (asked !== undefined) setText(texts.announced.asks(asked))
  }, [asked, outcome])
  return (
    <div class="visually-hidden" role="status">
      {text}
    </div>
  )
}

/** Returns about how high a row is, in pixels, before it was rendered. */
function heightOf(row: Row | undefined): number {
  switch (row?.type) {
    case 'text':
      return 30 + Math.ceil(row.chunk.text.length / 80) * 26
    case 'prompt':
      return 80 + Math.ceil(Math.min(row.prompt.text.length, 6000) / 70) * 26
    case 'ask':
      return row.ask.status === 'pending' ? 260 : 44
    case 'file':
      return 240
    case 'end':
      return 80
    case 'reasoning':
    case 'tool':
    case 'agent':
    case 'patch':
    case 'retry':
    case 'failure':
    case 'compaction':
    case undefined:
      return 44
    default:
      return row satisfies never
  }
}
