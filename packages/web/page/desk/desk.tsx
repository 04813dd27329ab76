import { escapeInvisible } from '@reply/core'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PageList, PageListItem } from '../../src/state/page-list.ts'
import { texts } from '../texts.ts'
import { ConnectedRun } from '../wire/connected-run.tsx'
import { openConnection } from '../wire/connection.ts'
import { Notice } from '../wire/notice.tsx'
import './desk.css'

/** What the fragment of the address says: the token, and the run that is shown. No server gets it. */
interface Place {
  readonly token: string
  readonly id: string | undefined
}

/** The runs of a server, and the one of them that is chosen. */
export function Desk(): ComponentChildren {
  const [{ token, id }, setPlace] = useState(readPlace)
  useEffect(() => {
    const follow = (): void => setPlace(readPlace())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const { list, notice, isRefused } = useList(token)
  if (token === '') return <Notice text={texts.deskNoToken} />
  if (isRefused) return <Notice text={notice} />
  const waiting = (list?.runs ?? []).filter((item) => item.asks > 0 && item.id !== id)
  return (
    <div class="desk" data-chosen={id}>
      <nav class="desk-list" aria-label={texts.desk}>
        <Notice text={notice} />
        <h1>{texts.desk}</h1>
        {list && <RunList token={token} chosen={id} runs={list.runs} />}
        {list?.runs.length === 0 && <p class="soft">{texts.noRuns}</p>}
        {!list && <p class="soft">{texts.connecting}</p>}
      </nav>
      <main class="desk-run">
        {id === undefined ? (
          <p class="soft desk-empty">{texts.chooseRun}</p>
        ) : (
          <>
            <a class="desk-back" href={`#${token}`}>
              ← {texts.backToRuns}
              {waiting.length > 0 && <span class="desk-asks">{waiting.length}</span>}
            </a>
            <ConnectedRun key={id} id={id} token={token} />
          </>
        )}
      </main>
    </div>
  )
}

interface RunListProps {
  readonly token: string
  readonly chosen: string | undefined
  readonly runs: readonly PageListItem[]
}

function RunList({ token, chosen, runs }: RunListProps): ComponentChildren {
  return (
    <ul>
      {runs.map((item) => (
        <li key={item.id}>
          <a href={`#${token}/${encodeURIComponent(item.id)}`} aria-current={item.id === chosen ? 'page' : undefined}>
            <span class="desk-title" dir="auto">
              {escapeInvisible(item.title ?? item.prompt ?? texts.untitled)}
            </span>
            <span class="desk-facts">
              <State item={item} />
              {item.at !== undefined && <time dateTime={new Date(item.at).toISOString()}>{timeText(item.at)}</time>}
            </span>
            {item.directory !== undefined && <span class="desk-place">{escapeInvisible(item.directory)}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}

function State({ item: { asks, phase, outcome } }: { readonly item: PageListItem }): ComponentChildren {
  if (asks > 0) return <span class="desk-asks">{texts.waitsFor(asks)}</span>
  if (phase === undefined) return <span>{texts.earlier}</span>
  return <span data-phase={phase}>{outcome ? texts.outcomes[outcome] : texts.phases[phase]}</span>
}

function timeText(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
}

interface ShownList {
  readonly list?: PageList | undefined
  readonly notice?: string | undefined
  readonly isRefused: boolean
}

function useList(token: string): ShownList {
  const [shown, setShown] = useState<ShownList>({ isRefused: false })
  useEffect(() => {
    if (token === '') return
    const connection = openConnection<PageList>({
      url: '../api/runs',
      token,
      onState: (list) => setShown((before) => ({ ...before, list })),
      onAccess: () => {},
      onConnection: (state, message) => {
        if (state === 'refused') setShown({ isRefused: true, notice: message })
        else setShown((before) => ({ ...before, notice: state === 'lost' ? texts.reconnecting : undefined }))
      },
    })
    return connection.close
  }, [token])
  return shown
}

function readPlace(): Place {
  const [token = '', id] = location.hash.slice(1).split('/')
  return { token, id: id === undefined || id === '' ? undefined : decodeURIComponent(id) }
}
