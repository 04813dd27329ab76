import { Component, type ComponentChildren, createElement, type FunctionComponent } from 'preact'

/** Renders a component again only if one of its properties is another value. A run shares what did not change. */
export function memo<P extends object>(view: (props: P) => ComponentChildren): FunctionComponent<P> {
  const inner: FunctionComponent<P> = (props) => view(props)
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !isShallowEqual(this.props, next)
    }
    override render(): ComponentChildren {
      return createElement(inner, this.props)
    }
  }
  return (props) => createElement(Memo, props)
}

function isShallowEqual(a: object, b: object): boolean {
  const before = Object.entries(a)
  const after = new Map(Object.entries(b))
  return before.length === after.size && before.every(([key, value]) => Object.is(after.get(key), value))
}
