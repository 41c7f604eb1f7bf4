package dev.threadkeep.adk;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationConfig;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.BeanSerializerModifier;
import com.fasterxml.jackson.databind.ser.impl.UnknownSerializer;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import com.google.adk.JsonBaseModel;

/** JSON as ADK writes it. A value of a class that has none becomes its string form, where ADK would fail. */
final class Json {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final ObjectMapper MAPPER = mapper();

  private Json() {}

  private static ObjectMapper mapper() {
    ObjectMapper found = JsonBaseModel.getMapper().copy();
    found.registerModule(new SimpleModule("threadkeep").setSerializerModifier(new Lenient()));
    found.enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS.mappedFeature()); // Python writes them
    return found;
  }

  static JsonNodeFactory nodes() {
    return NODES;
  }

  /** Returns the JSON text of a value. Lone surrogates, which UTF-8 cannot represent, are escapes. */
  static String text(Object value) {
    try {
      String text = MAPPER.writeValueAsString(value);
      return isWhole(text) ? text : MAPPER.writer().with(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature()).writeValueAsString(value);
    } catch (JsonProcessingException failed) { // such as an object that contains itself
      return NODES.textNode(clean(String.valueOf(value))).toString();
    }
  }

  /** Returns the tree of a value, with the types that its text has. */
  static JsonNode tree(Object value) {
    return parsed(text(value));
  }

  static JsonNode parsed(String json) {
    try {
      JsonNode found = MAPPER.readTree(json);
      return found == null ? NODES.missingNode() : found;
    } catch (JsonProcessingException invalid) {
      throw new IllegalArgumentException(invalid);
    }
  }

  static <T> T as(JsonNode tree, Class<T> type) {
    try {
      return MAPPER.treeToValue(tree, type);
    } catch (JsonProcessingException invalid) {
      throw new IllegalArgumentException(invalid);
    }
  }

  /** Returns the JSON object that a text holds; another text is an object's member {@code input}, since models may write invalid JSON. */
  static ObjectNode object(String json) {
    JsonNode found;
    try {
      found = json.isBlank() ? NODES.objectNode() : parsed(json);
    } catch (IllegalArgumentException invalid) {
      found = NODES.textNode(json);
    }
    return found instanceof ObjectNode object ? object : NODES.objectNode().set("input", found);
  }

  /** Returns text that protobuf can encode: U+FFFD replaces each lone surrogate. */
  static String clean(String text) {
    if (isWhole(text)) {
      return text;
    }
    return text.codePoints().map(each -> isSurrogate(each) ? 0xFFFD : each)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
  }

  private static boolean isWhole(String text) {
    return text.codePoints().noneMatch(Json::isSurrogate);
  }

  private static boolean isSurrogate(int codePoint) {
    return codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
  }

  /** Writes values of classes without properties, such as functions, as their string form. */
  private static final class Lenient extends BeanSerializerModifier {
    private static final long serialVersionUID = 1;

    @Override
    public JsonSerializer<?> modifySerializer(SerializationConfig config, BeanDescription bean, JsonSerializer<?> serializer) {
      return serializer instanceof UnknownSerializer ? new ToStringSerializer(bean.getBeanClass()) : serializer;
    }
  }
}
