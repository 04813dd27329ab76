import { testPlaces } from './place.ts'
import { testVersion } from './version.ts'

testVersion('1.18.33')
testPlaces('1.18.33')
