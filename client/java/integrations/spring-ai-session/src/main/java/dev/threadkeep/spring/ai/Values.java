package dev.threadkeep.spring.ai;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Values of metadata as JSON, and back with their types. What JSON has no type for is an object with {@code @type} and {@code
 * @value}; an object of an unknown class becomes its text. Keys are sorted, so equal values have equal JSON.
 */
final class Values {
  private static final String TYPE = "@type";
  private static final String VALUE = "@value";
  private static final JsonMapper JSON = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

  private Values() {}

  /** Returns a map as the text of a JSON object; empty without entries. */
  static String write(Map<String, ?> values) {
    return values.isEmpty() ? "" : text(object(values));
  }

  /** Returns the map of a JSON object; without entries for an empty text. */
  static Map<String, Object> read(String json) {
    return json.isEmpty() ? new LinkedHashMap<>() : map(tree(json));
  }

  /** Returns JSON types as text. */
  static String text(Object tree) {
    return JSON.writeValueAsString(tree);
  }

  /** Returns a JSON text as maps, lists and values. */
  static Object tree(String json) {
    return JSON.readValue(json, Object.class);
  }

  /** Returns a map as JSON types. */
  static Map<String, Object> object(Map<?, ?> values) {
    Map<String, Object> found = new TreeMap<>();
    values.forEach((key, value) -> found.put(String.valueOf(key), encode(value)));
    return found;
  }

  /** Returns the map of JSON types; empty if they are no object. */
  static Map<String, Object> map(Object tree) {
    Map<String, Object> found = new LinkedHashMap<>();
    if (tree instanceof Map<?, ?> values) {
      values.forEach((key, value) -> found.put(String.valueOf(key), decode(value)));
    }
    return found;
  }

  private static Object encode(Object value) {
    if (value == null || value instanceof String || value instanceof Boolean || value instanceof Integer) {
      return value;
    } else if (value instanceof Long number) {
      return number == number.intValue() ? typed("long", number) : number;
    } else if (value instanceof Double number) {
      return Double.isFinite(number) ? number : typed("double", number.toString());
    } else if (value instanceof Number number) {
      return typed(number.getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT), number.toString());
    } else if (value instanceof byte[] bytes) {
      return typed("bytes", Base64.getEncoder().encodeToString(bytes));
    } else if (value instanceof Instant || value instanceof Duration || value instanceof UUID || value instanceof URI) {
      return typed(value.getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT), value.toString());
    } else if (value instanceof Map<?, ?> values) {
      return values.containsKey(TYPE) ? typed("map", object(values)) : object(values);
    } else if (value instanceof Set<?> values) {
      return typed("set", values.stream().map(Values::encode).toList());
    } else if (value instanceof Collection<?> values) {
      List<Object> items = new ArrayList<>();
      values.forEach(each -> items.add(encode(each)));
      return items;
    }
    return value.toString();
  }

  private static Map<String, Object> typed(String type, Object value) {
    return Map.of(TYPE, type, VALUE, value);
  }

  private static Object decode(Object tree) {
    if (tree instanceof List<?> items) {
      List<Object> found = new ArrayList<>();
      items.forEach(each -> found.add(decode(each)));
      return found;
    } else if (tree instanceof Map<?, ?> values) {
      return values.get(TYPE) instanceof String type && values.size() == 2 ? decode(type, values.get(VALUE)) : map(values);
    }
    return tree;
  }

  private static Object decode(String type, Object value) {
    String text = String.valueOf(value);
    return switch (type) {
      case "long" -> Long.valueOf(text);
      case "double" -> Double.valueOf(text);
      case "float" -> Float.valueOf(text);
      case "short" -> Short.valueOf(text);
      case "byte" -> Byte.valueOf(text);
      case "bigdecimal" -> new BigDecimal(text);
      case "biginteger" -> new BigInteger(text);
      case "bytes" -> Base64.getDecoder().decode(text);
      case "instant" -> Instant.parse(text);
      case "duration" -> Duration.parse(text);
      case "uuid" -> UUID.fromString(text);
      case "uri" -> URI.create(text);
      case "map" -> map(value);
      case "set" -> decode(value) instanceof List<?> items ? new LinkedHashSet<Object>(items) : value;
      default -> value;
    };
  }
}
